import type { SessionId, Slot } from './ids.ts';

/**
 * Rendezvous ranking: every daemon computes the same order of the live sessions for a machine
 * without talking to the others. Rank 0 acts at once, rank n waits n head starts. It only saves
 * conflicts; the claim in the BMDB is what makes it safe.
 */
export function rankOf(self: SessionId, sessions: readonly SessionId[], slot: Slot): number {
  const own = weight(self, slot);
  let rank = 0;
  for (const other of sessions) {
    if (other === self) continue;
    const theirs = weight(other, slot);
    if (theirs > own || (theirs === own && other < self)) rank += 1;
  }
  return rank;
}

/** FNV-1a (32 bit) with the finisher of MurmurHash3, so that similar names spread. */
function weight(session: string, slot: string): number {
  let hash = 0x811c9dc5;
  const text = `${session}|${slot}`;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
