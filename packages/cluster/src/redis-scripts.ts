/**
 * Lua of the ledger on Redis: what must happen in one step. Keys of a batch share a hash tag, and so do those of the fleet.
 * Numbers of standings and states are the indices of {@link STANDINGS}.
 */
import type { Standing } from './ledger.js';

const STANDINGS = ['owner', 'fenced', 'cancelled'] as const satisfies readonly Standing[];

export function standing(index: unknown): Standing {
  return STANDINGS[index as number] ?? 'fenced';
}

const STANDING = `
local function standing(batch, owners, chunk, owner)
  local state = redis.call('HGET', batch, 'state')
  if not state then return 2 end
  if redis.call('HGET', owners, chunk) ~= owner then return 1 end
  return state == 'cancelled' and 2 or 0
end`;

const NOW = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000`;

const RAISE_LINES = `
local function raise(batch, lines)
  if lines > tonumber(redis.call('HGET', batch, 'lines')) then redis.call('HSET', batch, 'lines', lines) end
end`;

/** Name of a command of ours, and its script. */
export const LUA = {
  /** batch; field, value … → 1 made, 0 there was one */
  bulkheadCreate: `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'state', 'open', 'lines', 0, 'answered', 0, 'unread', 0, unpack(ARGV))
return 1`,

  /** batch, chunks; lines, chunk … → 0 there is no such batch */
  bulkheadSubmitted: `${RAISE_LINES}
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
raise(KEYS[1], tonumber(ARGV[1]))
for i = 2, #ARGV do redis.call('SADD', KEYS[2], ARGV[i]) end
return 1`,

  /** batch; lines → 0 there is no such batch */
  bulkheadSeal: `${RAISE_LINES}
local state = redis.call('HGET', KEYS[1], 'state')
if not state then return 0 end
raise(KEYS[1], tonumber(ARGV[1]))
if state == 'open' then redis.call('HSET', KEYS[1], 'state', 'sealed') end
return 1`,

  /** batch → 0 there is no such batch. One that is finished stays so. */
  bulkheadCancel: `
local fact = redis.call('HMGET', KEYS[1], 'state', 'lines', 'answered')
if not fact[1] then return 0 end
if fact[1] == 'sealed' and tonumber(fact[3]) >= tonumber(fact[2]) then return 1 end
redis.call('HSET', KEYS[1], 'state', 'cancelled')
return 1`,

  /** batch, owners, sent, answered; chunk, owner, lines → state, and of each line: 0 new, 1 sent, 2 answered */
  bulkheadClaim: `
local state = redis.call('HGET', KEYS[1], 'state')
local fates = {}
if state then redis.call('HSET', KEYS[2], ARGV[1], ARGV[2]) end
for line in string.gmatch(ARGV[3], '%d+') do
  local fate = '2'
  if state and redis.call('GETBIT', KEYS[4], line) == 0 then fate = redis.call('GETBIT', KEYS[3], line) end
  fates[#fates + 1] = fate
end
return {state or 'cancelled', table.concat(fates)}`,

  /** batch, owners, sent; chunk, owner, lines → standing */
  bulkheadMarkSent: `${STANDING}
local stands = standing(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
if stands == 0 then
  for line in string.gmatch(ARGV[3], '%d+') do redis.call('SETBIT', KEYS[3], line, 1) end
end
return stands`,

  /** batch, owners, sent; chunk, owner, lines */
  bulkheadUnmarkSent: `
if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] or redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
for line in string.gmatch(ARGV[3], '%d+') do redis.call('SETBIT', KEYS[3], line, 0) end
return 1`,

  /**
   * batch, owners, answered, results, blobs, blob …; chunk, owner, a line of text per result with its number, outcome and
   * the bytes of its blob or nothing, and one with its text or reference → standing, unread bytes. What belongs to one
   * entry stands in its fields in order: `l` texts, `b` a blob.
   */
  bulkheadPutResults: `${STANDING}
if redis.call('EXISTS', KEYS[1]) == 0 then return {2, 0} end
local lines, sizes, isNew, outcomes, count, whole = {}, {}, {}, {}, 0, true
for line, outcome, bytes in string.gmatch(ARGV[3], '(%d+) (%S+) (%d*)') do
  local n = #lines + 1
  lines[n], sizes[n] = line, bytes
  if redis.call('SETBIT', KEYS[3], line, 1) == 0 then
    isNew[n] = true
    count = count + 1
    outcomes[outcome] = (outcomes[outcome] or 0) + 1
    if bytes ~= '' then whole = false end
  else
    whole = false
  end
end
local fields, size = {}, 0
if whole then
  fields, size = {'l', ARGV[4]}, #ARGV[4] + 1
else
  local texts, n, blob = {}, 0, 5
  local function close()
    if #texts == 0 then return end
    fields[#fields + 1] = 'l'
    fields[#fields + 1] = table.concat(texts, '\\n')
    texts = {}
  end
  for text in string.gmatch(ARGV[4], '[^\\n]+') do
    n = n + 1
    local apart = sizes[n] ~= ''
    if apart then blob = blob + 1 end
    if isNew[n] and apart then
      close()
      size = size + tonumber(sizes[n]) + 1
      fields[#fields + 1] = 'b'
      fields[#fields + 1] = lines[n] .. ' ' .. sizes[n] .. ' ' .. text
      redis.call('PERSIST', KEYS[blob])
      redis.call('SADD', KEYS[5], text)
    elseif isNew[n] then
      size = size + #text + 1
      texts[#texts + 1] = text
    elseif apart and redis.call('SISMEMBER', KEYS[5], text) == 0 then
      redis.call('UNLINK', KEYS[blob])
    end
  end
  close()
end
if count > 0 then
  redis.call('XADD', KEYS[4], '*', 'n', count, 'z', string.format('%.0f', size), unpack(fields))
  redis.call('HINCRBY', KEYS[1], 'answered', count)
  for outcome, amount in pairs(outcomes) do redis.call('HINCRBY', KEYS[1], 'outcome:' .. outcome, amount) end
  redis.call('HINCRBY', KEYS[1], 'unread', string.format('%.0f', size))
end
return {standing(KEYS[1], KEYS[2], ARGV[1], ARGV[2]), redis.call('HGET', KEYS[1], 'unread')}`,

  /** batch, results, blobs; cursor, entries at most, to, key of a blob without its reference → entries removed */
  bulkheadCollected: `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local entries = redis.call('XRANGE', KEYS[2], '-', ARGV[1], 'COUNT', ARGV[2])
local lines, size = 0, 0
for _, entry in ipairs(entries) do
  local fields = entry[2]
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if name == 'n' then lines = lines + tonumber(value)
    elseif name == 'z' then size = size + tonumber(value)
    elseif name == 'b' then
      local reference = string.match(value, '(%S+)$')
      redis.call('UNLINK', ARGV[4] .. reference)
      redis.call('SREM', KEYS[3], reference)
    end
  end
  redis.call('XDEL', KEYS[2], entry[1])
end
if lines > 0 then
  redis.call('HINCRBY', KEYS[1], 'unread', string.format('%.0f', -size))
  redis.call('HINCRBY', KEYS[1], 'collected', lines)
  redis.call('HSET', KEYS[1], 'collectedTo', ARGV[3])
end
return #entries`,

  /** expiries, workers; id, ttl in ms, record. A ttl of 0 ends it. */
  bulkheadBeat: `${NOW}
if tonumber(ARGV[2]) <= 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
else
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
end
return 1`,

  /** expiries, workers → records */
  bulkheadWorkers: `${NOW}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
end
return redis.call('HVALS', KEYS[2])`,

  /** lease; owner, ttl in ms → 1 it is the owner's */
  bulkheadLease: `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,

  /** lease, places; owner */
  bulkheadRelease: `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('HDEL', KEYS[2], ARGV[1])
return 1`,

  /** places; owner, want, limit, ttl in ms → how many it has */
  bulkheadPlaces: `${NOW}
local taken = 0
local held = redis.call('HGETALL', KEYS[1])
for i = 1, #held, 2 do
  local count, expiry = string.match(held[i + 1], '^(%d+) (%d+)$')
  if tonumber(expiry) <= now then redis.call('HDEL', KEYS[1], held[i])
  elseif held[i] ~= ARGV[1] then taken = taken + tonumber(count) end
end
local have = math.min(tonumber(ARGV[2]), math.max(0, tonumber(ARGV[3]) - taken))
if have <= 0 then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %.0f', have, now + tonumber(ARGV[4])))
return have`,

  /**
   * rate; count, calls a second → 0 granted, else ms to wait. The generic cell rate algorithm: what is stored is when the
   * last granted call would be due at an even pace. Granted is what is due within 100 ms, or the first ask after a pause.
   */
  bulkheadPermits: `${NOW}
local due = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0'))
local span = tonumber(ARGV[1]) * 1000 / tonumber(ARGV[2])
local wait = due + span - now - math.max(100, span)
if wait > 0 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.3f', due + span), 'PX', math.ceil(due + span - now + 1000))
return 0`,
} as const satisfies Record<string, string>;
