/** A job queue on PostgreSQL that is measured beside ours. */
export interface Peer {
  /** Queues so many jobs that do nothing. */
  prepare(jobs: number): Promise<void>;
  /** Works on all of them. @returns milliseconds from the first start to the last completion. */
  work(jobs: number): Promise<number>;
}

/** Jobs a second. */
export async function measurePeer(peer: Peer, jobs: number): Promise<number> {
  await peer.prepare(jobs);
  return (jobs * 1_000) / (await peer.work(jobs));
}
