/** Default numbers of distributed batches, one table; durations in ms, sizes in bytes. */

export const clusterDefaults = {
  /** Lines of one chunk: enough that the queue's work per call does not count, few enough to share out evenly. */
  chunkLines: 256,
  /** Text of one chunk; a single longer line is a chunk of its own. */
  chunkBytes: 256 * 1024,
  /** Chunks that the submitter adds to the queues at once. */
  chunksAtOnce: 100,
  /** Input text that the submitter holds in unfinished chunks. */
  openChunkBytes: 32 * 1024 * 1024,
  /** Longest input line that is submitted; a longer one becomes `BAD_INPUT`. */
  maxLineBytes: 64 * 1024 * 1024,
  /** Priority of a batch's chunks; 0 goes before all others. */
  priority: 0,
  /** Tries of one line in all, where another try is safe. */
  attempts: 1,
  /** Queues per server for lines with an `affinity`. */
  shards: 16,
  /** Result bytes that may wait to be collected before workers pause. */
  maxUnreadBytes: 256 * 1024 * 1024,
  /** Result lines written in one step. */
  resultLines: 256,
  /** Result text written in one step, and so the size of one stretch of results. */
  resultBytes: 256 * 1024,
  /** A longer result line is kept apart. */
  inlineBytes: 64 * 1024,
  /** Pieces of a line that is kept apart. */
  blobPieceBytes: 1024 * 1024,
  /** A long line that no result refers to, because its writer died, goes away after this. */
  blobOrphanMs: 24 * 60 * 60 * 1000,
  /** Results that a collector reads at once. */
  pageBytes: 4 * 1024 * 1024,
  /** How often a collector that follows looks for more. */
  pollMs: 250,
  /** How often a collector that follows writes ends for chunks that nobody will run. */
  settleEveryMs: 2_000,
  /** A chunk whose worker is silent for this long is given to another. */
  lockMs: 10_000,
  /** How often lost chunks are looked for. */
  stalledEveryMs: 5_000,
  /** Workers that a chunk may be lost with before it is given up. */
  maxStalled: 5,
  /** Times that a chunk is run when running it failed for another reason than a lost worker. */
  chunkAttempts: 5,
  /** Chunks that a worker runs at once per server. */
  chunksPerServer: 2,
  /** Calls of a worker in flight over all its servers. */
  workerCalls: 256,
  /** How long calls in flight may take to end when a worker stops. */
  stopGraceMs: 30_000,
  /** How long a worker's shard stays its own after the last renewal. */
  leaseMs: 3_000,
  /** How often a worker renews leases and places, and tells that it lives. */
  beatMs: 1_000,
  /** Workers that a worker reads about at each beat; of a larger fleet it reads at every second beat, and so on. */
  peersPerBeat: 50,
  /** A chunk that cannot run now (no place, or nobody reads the results) comes back after this. */
  delayMs: 1_000,
  /** How long a worker keeps a chunk that has no place, before it lets others have a look at it. */
  placesWaitMs: 10_000,
  /** How long a server that was ready may be away before its queues are left to other workers. */
  serverGraceMs: 5_000,
  /** Workers that may give a chunk back, one after the other, because its server cannot be used there. */
  notReadyTimes: 5,
  /** How long lines wait while workers have their server and none of them can use it; then they end with the reason. */
  notReadyMs: 300_000,
  /** How long a submitter counts as at work after it was last heard of. */
  submitLeaseMs: 5_000,
  /** Results wait at most this long for others to be written with them. */
  flushMs: 20,
  /** How long submitters and collectors wait for a store that went away; workers wait without limit. */
  patienceMs: 20_000,
  /** How long the first connection may take. */
  connectMs: 10_000,
} as const;

/** The limits of a worker and of a store; {@link clusterDefaults} says what each is. */
export type ClusterLimits = { [K in keyof typeof clusterDefaults]: number };
