/**
 * Functions of the ledger on PostgreSQL: each step of a chunk is one, so that it is one round trip and one transaction.
 * Locks are taken in the order batch, chunk, pages by number, so that no two steps wait for each other. `:schema` stands
 * for the schema.
 */
import { PAGE_LINES } from './postgres-lines.js';

export const functions = `
CREATE FUNCTION open_pages(p_batch text, p_pages int[]) RETURNS void
LANGUAGE sql SET search_path = :schema AS $$
  INSERT INTO line_page (batch, page, sent, answered)
  SELECT p_batch, page, 0::bit(${PAGE_LINES}), 0::bit(${PAGE_LINES}) FROM unnest(p_pages) page ORDER BY page
  ON CONFLICT DO NOTHING;
$$;

CREATE FUNCTION claim(p_batch text, p_chunk text, p_owner text, p_lines int[], p_pages int[],
  OUT state text, OUT answered int[], OUT sent int[])
LANGUAGE plpgsql SET search_path = :schema AS $$
BEGIN
  SELECT batch.state INTO claim.state FROM batch WHERE id = p_batch FOR KEY SHARE;
  IF NOT FOUND THEN
    state := 'cancelled';
    answered := p_lines;
    RETURN;
  END IF;
  INSERT INTO chunk (batch, chunk, owner) VALUES (p_batch, p_chunk, p_owner)
  ON CONFLICT (batch, chunk) DO UPDATE SET owner = p_owner;
  PERFORM open_pages(p_batch, p_pages);
  -- A statement of its own: it sees what an owner before committed while this one waited for the chunk.
  SELECT array_agg(line) FILTER (WHERE get_bit(p.answered, line % ${PAGE_LINES}) = 1),
         array_agg(line) FILTER (WHERE get_bit(p.answered, line % ${PAGE_LINES}) = 0
                                   AND get_bit(p.sent, line % ${PAGE_LINES}) = 1)
  INTO claim.answered, claim.sent
  FROM unnest(p_lines) line JOIN line_page p ON p.batch = p_batch AND p.page = line / ${PAGE_LINES};
END $$;

CREATE FUNCTION stands(p_batch text, p_chunk text, p_owner text) RETURNS text
LANGUAGE plpgsql SET search_path = :schema AS $$
DECLARE
  v_state text;
BEGIN
  -- Shared: a claim by another owner waits until this step is committed.
  PERFORM 1 FROM chunk WHERE batch = p_batch AND chunk = p_chunk AND owner = p_owner FOR SHARE;
  IF FOUND THEN
    SELECT state INTO v_state FROM batch WHERE id = p_batch;
    RETURN CASE WHEN v_state IN ('open', 'sealed') THEN 'owner' ELSE 'cancelled' END;
  END IF;
  RETURN CASE WHEN EXISTS (SELECT 1 FROM batch WHERE id = p_batch) THEN 'fenced' ELSE 'cancelled' END;
END $$;

CREATE FUNCTION mark_sent(p_batch text, p_chunk text, p_owner text, p_pages int[], p_masks bit(${PAGE_LINES})[])
RETURNS text LANGUAGE plpgsql SET search_path = :schema AS $$
DECLARE
  v_standing text := stands(p_batch, p_chunk, p_owner);
BEGIN
  IF v_standing <> 'owner' THEN
    RETURN v_standing;
  END IF;
  PERFORM open_pages(p_batch, p_pages);
  PERFORM 1 FROM line_page WHERE batch = p_batch AND page = ANY (p_pages) ORDER BY page FOR NO KEY UPDATE;
  UPDATE line_page SET sent = sent | m.mask
  FROM unnest(p_pages, p_masks) m (page, mask) WHERE batch = p_batch AND line_page.page = m.page;
  RETURN v_standing;
END $$;

CREATE FUNCTION put_results(p_batch text, p_chunk text, p_owner text, p_pages int[], p_masks bit(${PAGE_LINES})[],
  p_lines int[], p_outcomes text[], p_sizes int[], p_blobs text[], p_body text,
  OUT standing text, OUT unread float8)
LANGUAGE plpgsql SET search_path = :schema AS $$
DECLARE
  v_known int[];
  v_body text := p_body;
  v_lines int := cardinality(p_lines);
  v_bytes bigint;
  v_outcomes jsonb;
  v_blobs text[] := array_remove(p_blobs, '');
  v_seq int;
BEGIN
  -- One writer of a batch at a time, so that results become visible in the order of their numbers.
  PERFORM 1 FROM batch WHERE id = p_batch FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    standing := 'cancelled';
    unread := 0;
    RETURN;
  END IF;
  standing := stands(p_batch, p_chunk, p_owner);
  PERFORM open_pages(p_batch, p_pages);
  PERFORM 1 FROM line_page WHERE batch = p_batch AND page = ANY (p_pages) ORDER BY page FOR NO KEY UPDATE;
  SELECT array_agg(line) INTO v_known
  FROM unnest(p_lines) line JOIN line_page p ON p.batch = p_batch AND p.page = line / ${PAGE_LINES}
  WHERE get_bit(p.answered, line % ${PAGE_LINES}) = 1;
  IF v_known IS NOT NULL THEN
    DELETE FROM blob WHERE batch = p_batch AND reference IN (
      SELECT b FROM unnest(p_lines, p_blobs) given (line, b) WHERE line = ANY (v_known) AND b <> '');
    SELECT string_agg(text, E'\\n' ORDER BY n), count(*), array_remove(array_agg(b), '')
    INTO v_body, v_lines, v_blobs
    FROM unnest(p_lines, p_blobs, string_to_array(p_body, E'\\n')) WITH ORDINALITY given (line, b, text, n)
    WHERE line <> ALL (v_known);
  END IF;
  IF v_lines > 0 THEN
    UPDATE line_page SET answered = answered | m.mask
    FROM unnest(p_pages, p_masks) m (page, mask) WHERE batch = p_batch AND line_page.page = m.page;
    SELECT sum(size) INTO v_bytes FROM unnest(p_lines, p_sizes) given (line, size)
    WHERE v_known IS NULL OR line <> ALL (v_known);
    SELECT jsonb_object_agg(outcome, amount) INTO v_outcomes FROM (
      SELECT outcome, sum(amount) AS amount FROM (
        SELECT key AS outcome, value::int AS amount FROM batch, jsonb_each_text(outcomes) WHERE id = p_batch
        UNION ALL
        SELECT outcome, 1 FROM unnest(p_lines, p_outcomes) given (line, outcome)
        WHERE v_known IS NULL OR line <> ALL (v_known)) counts GROUP BY outcome) sums;
    UPDATE batch SET answered = answered + v_lines, unread_bytes = unread_bytes + v_bytes,
      outcomes = v_outcomes, last_seq = last_seq + 1
    WHERE id = p_batch RETURNING last_seq INTO v_seq;
    INSERT INTO result (batch, seq, body, lines, bytes, blobs)
    VALUES (p_batch, v_seq, v_body, v_lines, v_bytes, v_blobs);
  END IF;
  SELECT unread_bytes INTO unread FROM batch WHERE id = p_batch;
END $$;

CREATE FUNCTION collected(p_batch text, p_seq int, p_to text) RETURNS void
LANGUAGE plpgsql SET search_path = :schema AS $$
DECLARE
  v_lines int;
  v_bytes bigint;
BEGIN
  PERFORM 1 FROM batch WHERE id = p_batch FOR NO KEY UPDATE;
  DELETE FROM blob WHERE batch = p_batch AND reference IN (
    SELECT unnest(blobs) FROM result WHERE batch = p_batch AND seq <= p_seq);
  WITH gone AS (DELETE FROM result WHERE batch = p_batch AND seq <= p_seq RETURNING lines, bytes)
  SELECT coalesce(sum(lines), 0), coalesce(sum(bytes), 0) INTO v_lines, v_bytes FROM gone;
  UPDATE batch SET unread_bytes = unread_bytes - v_bytes, collected_lines = collected_lines + v_lines,
    collected_to = p_to
  WHERE id = p_batch AND v_lines > 0;
END $$;

CREATE FUNCTION places(p_name text, p_owner text, p_want int, p_limit int, p_ttl interval) RETURNS int
LANGUAGE plpgsql SET search_path = :schema AS $$
DECLARE
  v_granted int;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('bulkhead places'), hashtext(p_name));
  DELETE FROM place WHERE name = p_name AND (expires <= clock_timestamp() OR owner = p_owner);
  SELECT greatest(0, least(p_want, p_limit - coalesce(sum(count), 0))) INTO v_granted
  FROM place WHERE name = p_name;
  IF v_granted > 0 THEN
    INSERT INTO place VALUES (p_name, p_owner, v_granted, clock_timestamp() + p_ttl);
  END IF;
  RETURN v_granted;
END $$;

-- The generic cell rate algorithm: what is stored is when the last granted call would be due at an even pace. Granted is
-- what is due within 100 ms, or the first ask after a pause.
CREATE FUNCTION permits(p_name text, p_span interval) RETURNS int
LANGUAGE plpgsql SET search_path = :schema AS $$
DECLARE
  v_due timestamptz;
  v_now timestamptz;
  v_wait interval;
BEGIN
  INSERT INTO rate VALUES (p_name, '-infinity') ON CONFLICT DO NOTHING;
  SELECT due INTO v_due FROM rate WHERE name = p_name FOR NO KEY UPDATE;
  v_now := clock_timestamp();
  v_due := greatest(v_due, v_now) + p_span;
  v_wait := v_due - v_now - greatest(p_span, interval '100 ms');
  IF v_wait > interval '0' THEN
    RETURN ceil(extract(epoch FROM v_wait) * 1000);
  END IF;
  UPDATE rate SET due = v_due WHERE name = p_name;
  RETURN 0;
END $$;
`;
