import {
  stepMembers,
  type StepInput,
  type Steps,
} from '../../../src/domain/balancing/member-steps.ts';
import type { MemberRow, Wish } from '../../../src/domain/balancing/members.ts';
import { newRemembered, type Sight } from '../../../src/domain/balancing/sights.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { DESELECTED } from '../../../src/domain/balancing/wish.ts';
import { drain, drop, keep, serve } from '../../support/balancing-stand.ts';
import { span } from '../../support/fact-words.ts';
import { memberRow } from '../../support/facts.ts';
import { M1, M2, M3, pool } from './pool.ts';

/** One pass over the members of a pool, with only the fields that a test needs. */

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

export interface StepCase extends Partial<Omit<StepInput, 'rows' | 'wishes' | 'sights'>> {
  readonly rows?: readonly MemberRow[];
  readonly wishes?: readonly Wish[];
  readonly sights?: Readonly<Record<string, Sight>> | null;
}
export const step = ({ rows = [], wishes = [], sights = {}, ...change }: StepCase): Steps =>
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
export const firstOf = (change: StepCase) => moves(step(change))[0];
export const modes = ({ modes: calls }: Steps) =>
  calls.map(({ machineId, mode }) => [machineId, mode]);

/**
 * A pass in words: `A active, B draining 30s | drain A, serve B | A, B drain 1`: members, desired
 * states, readings.
 */
const IDS: Readonly<Record<string, MachineId>> = { A: M1, B: M2, C: M3 };
const nameOf = (id: MachineId) => Object.keys(IDS).find((name) => IDS[name] === id)!;
const phrases = (text = '') => text.split(',').map((each) => each.trim().split(' '));
const isTime = (word: string) => /^-?\d+(ms|s|m|h)/.test(word);

/** The time in its state, or until the end of its drain; and how the member was drained. */
function memberIn([name = '', state = '', ...words]: readonly string[]): MemberRow {
  const time = words.find(isTime);
  const how = words.find((word) => ['grace', 'gone'].includes(word)) as 'grace' | undefined;
  const flags = { waived: words.includes('waived'), refused: words.includes('refused') };
  if (state === 'draining') {
    return { ...draining(IDS[name]!, NOW + span(time ?? '30s')), ...flags };
  }
  return member(IDS[name]!, {
    ...{ state: state as MemberRow['state'], ...flags, how: how ?? null },
    ...(time && { sinceMs: NOW - span(time) }),
    ...(flags.waived && { note: 'away' }),
  });
}

const UNSELECTED = { reason: DESELECTED, askedAtMs: null, leaves: true } as const;
function wishIn([want = '', name = '', ...words]: readonly string[]): Wish {
  const id = IDS[name]!;
  const asked = words.find((word) => /^asked\d/.test(word));
  const made = {
    serve: () => (words[0] ? serve(id, words[0]) : serve(id)),
    keep: () => keep(id),
    drop: () => ({ ...drop(id), ...(words.includes('ordered') && { isOrdered: true as const }) }),
    drain: () =>
      drain(id, {
        ...(words.includes('force') && { force: true }),
        ...(words.includes('leaves') && { leaves: true }),
        ...(words.includes('parked') && { leaves: true, askedAtMs: null }),
        ...(words.includes('deselected') && UNSELECTED),
        ...(words.includes('unasked') && { ...UNSELECTED, isUnasked: true }),
        ...(asked && { askedAtMs: Number(asked.slice(5)) }),
      }),
  }[want];
  return made!();
}

/**
 * A mode, a health, `partial` when not all servers are ready, `open2`, an address, and connections.
 */
function sightIn([, ...words]: readonly string[]): Sight {
  const of = <T extends string>(...known: readonly T[]) =>
    known.find((each) => words.includes(each));
  const health = of('up', 'down', 'unknown', 'unchecked');
  const open = words.find((word) => word.startsWith('open'));
  const count = words.find((word) => /^\d+$/.test(word));
  return sight({
    mode: of('drain', 'off') ?? 'active',
    ...(health && { health: health === 'unchecked' ? null : health }),
    ...(words.includes('partial') && { isWhole: false }),
    ...(open && { open: Number(open.slice(4)) }),
    ...(count && { sessions: Number(count) }),
    addresses: new Set(words.filter((word) => word.includes('.'))),
  });
}

export function caseOf(words: string): StepCase {
  const [members = '', wishes = '', sights = '', how = ''] = words
    .split('|')
    .map((of) => of.trim());
  return {
    rows: members === '' ? [] : phrases(members).map(memberIn),
    wishes: wishes === '' ? [] : phrases(wishes).map(wishIn),
    sights:
      sights === 'blind'
        ? null
        : Object.fromEntries(
            sights === '' ? [] : phrases(sights).map((of) => [IDS[of[0]!]!, sightIn(of)]),
          ),
    ...(how.includes('removing') && { capabilities: REMOVE }),
    ...(how.includes('accepted') && { mayDropAll: true }),
    ...(how.includes('torn down') && { isTornDown: true }),
  };
}

/** The results of a pass: written rows, modes, requested looks and alarm. */
export function toldOf(words: string, more: Partial<StepCase> = {}): string {
  const steps = step({ ...caseOf(words), ...more });
  const moved = steps.moves.map(({ move, calls }) => {
    const { machineId, to, graceMs, newDeadline, how, note, waived, refused } = move;
    const text = note?.replace(/^ann asked for reboot: test(; )?/, '') ?? '';
    const is = (name: string, value: boolean | undefined) =>
      value === undefined ? [] : [value ? name : `not ${name}`];
    return [
      ...[nameOf(machineId), to ?? 'stays', how ?? ''],
      ...(graceMs === undefined ? [] : [`${graceMs / 1_000}s`]),
      ...(newDeadline ? ['anew'] : []),
      ...is('waived', waived),
      ...is('refused', refused),
      ...calls.map(({ mode }) => `after ${mode}`),
      ...(text && to !== 'gone' ? [`(${text})`] : []),
    ]
      .filter(Boolean)
      .join(' ');
  });
  return [
    ...moved,
    ...modes(steps).map(([id, mode]) => `${nameOf(id as MachineId)}=${mode}`),
    ...(steps.needsLook ? ['look'] : []),
    ...(steps.panic.length > 0 ? [`panic ${steps.panic.map(nameOf).join(' ')}`] : []),
  ].join(', ');
}
