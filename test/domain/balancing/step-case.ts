import {
  stepMembers,
  type StepInput,
  type Steps,
} from '../../../src/domain/balancing/member-steps.ts';
import type { MemberRow, Wish } from '../../../src/domain/balancing/members.ts';
import { newRemembered, type Sight } from '../../../src/domain/balancing/sights.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { memberRow } from '../../support/facts.ts';
import { pool } from './pool.ts';

/** One pass over the members of a pool, with as little said as a test needs. */

export const NOW = 1_700_000_000_000;
export const NATIVE = { drain: 'native', sessions: true, health: true } as const;
export const REMOVE = { drain: 'remove', sessions: false, health: false } as const;

export const member = (machineId: MachineId, change: Partial<MemberRow> = {}): MemberRow =>
  memberRow({ balancer: 'edge', machineId, sinceMs: NOW - 600_000, ...change });
export const draining = (machineId: MachineId, deadlineMs = NOW + 30_000): MemberRow =>
  member(machineId, { state: 'draining', deadlineMs, note: 'ann asked for reboot: test' });
export const sight = (
  change: Partial<Sight> & { mode?: 'active' | 'drain' | 'off' } = {},
): Sight => ({
  servers: [{ ref: { kind: 'server', id: 's' }, mode: change.mode ?? 'active' }],
  addresses: change.addresses ?? new Set(),
  isWhole: change.isWhole ?? true,
  open: change.open ?? ((change.mode ?? 'active') === 'active' && change.health !== 'down' ? 1 : 0),
  health: change.health === undefined ? 'up' : change.health,
  sessions: change.sessions === undefined ? 0 : change.sessions,
});

export interface Case extends Partial<Omit<StepInput, 'rows' | 'wishes' | 'sights'>> {
  readonly rows?: readonly MemberRow[];
  readonly wishes?: readonly Wish[];
  readonly sights?: Readonly<Record<string, Sight>> | null;
}
export const step = ({ rows = [], wishes = [], sights = {}, ...change }: Case): Steps =>
  stepMembers({
    pool: pool(),
    balancer: 'edge',
    capabilities: NATIVE,
    rows: new Map(rows.map((row) => [row.machineId, row])),
    wishes: new Map(wishes.map((wish) => [wish.machineId, wish])),
    sights: sights && new Map(Object.entries(sights) as [MachineId, Sight][]),
    memory: newRemembered(),
    elsewhere: new Map(),
    unreachable: null,
    mayDropAll: false,
    isTornDown: false,
    nowMs: NOW,
    ...change,
  });
export const moves = (steps: Steps) => steps.moves.map(({ move }) => move);
export const firstOf = (change: Case) => moves(step(change))[0];
export const modes = ({ modes: calls }: Steps) =>
  calls.map(({ machineId, mode }) => [machineId, mode]);
