import { UNSAID, type MemberPass } from './member-pass.ts';
import type { MemberRow, Wish } from './members.ts';
import { JOIN_MS } from './drain-turns.ts';
import { conclude } from './letting-go.ts';

/** A member that the balancer sees down for so long is told of. */
export const DOWN_MS = 60_000;
const NOT_WELL = 'the balancer does not see it well';

/** A machine becomes a member, or one again. */
export function join(pass: MemberPass, row: MemberRow | null, { machineId }: Wish): void {
  pass.move({ machineId, to: 'joining', note: null, ...(row && UNSAID) });
}

/** The next step of a member on its way to serve, or that serves already. */
export function serve(pass: MemberPass, row: MemberRow, wish: Wish): void {
  const { pool, capabilities, sights, nowMs } = pass;
  const seen = sights?.get(row.machineId);
  const isWell = seen?.isWhole === true && (!capabilities.health || seen.health === 'up');
  const isLate = nowMs >= row.sinceMs + pool.warmUpMs;
  switch (row.state) {
    case 'drained':
      return join(pass, row, wish);
    case 'joining':
      if (capabilities.health && nowMs < row.sinceMs + pool.warmUpMs + JOIN_MS) pass.lookSoon();
      if (sights === null) pass.needLook();
      else if (isWell) return pass.enter(row, 'active', { note: null });
      else if (seen?.isWhole) return warm(pass, row);
      return pass.hold(row);
    case 'warming':
      pass.lookSoon();
      pass.dueAt(row.sinceMs + pool.warmUpMs);
      if (sights === null) pass.needLook();
      else if (isWell) return pass.enter(row, 'active', { note: null });
      else if (isLate && seen) return pass.enter(row, 'active', { note: NOT_WELL });
      return pass.hold(row);
    case 'active':
      pass.hold(row);
      return pass.note(row, healthNote(pass, row), {
        ...(row.waived && { waived: false }),
        ...(row.refused && { refused: false }),
      });
    case 'draining':
      if (sights === null) pass.needLook();
      else if (seen?.isWhole) pass.enter(row, 'active', { note: null });
      else conclude(pass, row, wish);
  }
}

function warm(pass: MemberPass, row: MemberRow): void {
  pass.enter(row, 'warming', { note: null });
  pass.lookSoon();
}

/** What the balancer thinks of an active member, for people. */
function healthNote(
  { sights, memory, nowMs, dueAt }: MemberPass,
  { machineId, note: before }: MemberRow,
): string | null {
  const sinceMs = memory.downSinceMs.get(machineId);
  if (sinceMs === undefined) return sights === null ? before : null;
  dueAt(sinceMs + DOWN_MS);
  return nowMs >= sinceMs + DOWN_MS || before === NOT_WELL ? NOT_WELL : null;
}
