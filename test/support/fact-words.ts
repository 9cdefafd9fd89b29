import type { MachineRow, Process, RequestRow, SlotFacts } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { OrderVerb } from '../../src/domain/verbs.ts';
import * as facts from './facts.ts';
import { NOW_MS } from './facts.ts';

/**
 * Facts of a slot in words, for tables: `factsOf('heard 20m, hold no-recover')`. Without words, the
 * slot has a machine with hardware and no agent. Times are like `10m1ms`: ago for the past, `+1m`
 * for the future.
 */

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
export const span = (text: string): number => {
  if (!/^[-+]?(0|(\d+(ms|s|m|h))+)$/.test(text)) throw new Error(`"${text}" is no time`);
  const parts = [...text.matchAll(/(\d+)(ms|s|m|h)/g)];
  const sum = parts.reduce((ms, [, n, unit]) => ms + Number(n) * UNITS[unit as 'ms'], 0);
  return text.startsWith('-') ? -sum : sum;
};
export const ago = (text: string): number => NOW_MS - span(text);
export const at = (text: string): number => NOW_MS + span(text);
const end = (text: string | undefined): number | null => (text === undefined ? null : at(text));
const process = (name: string): Process => `Shepherd${name}` as Process;

/** One word's change to the slot and to its machine's row. */
type FactChange = Partial<Omit<SlotFacts, 'row'>> & { readonly row?: Partial<MachineRow> | null };

const beat = (text: string) => ({ atMs: ago(text), bootId: 'boot-1' });
const installation = (generation: bigint | null, result: 'Success' | 'Error' | null) => ({
  requestGeneration: 2n,
  handedOutAtMs: ago('1m'),
  reportGeneration: generation,
  reportResult: result,
});
const INSTALLATIONS = {
  due: { ...installation(null, null), handedOutAtMs: null },
  pending: installation(null, null),
  done: installation(2n, 'Success'),
  failed: installation(2n, 'Error'),
};
/** For orders: `skip` and `force` choose the drain, and a time says when the order ends. */
function order(verb: string, how?: string) {
  const isTime = how !== undefined && /^[+\d]/.test(how);
  return facts.orderRow({
    verb: verb as OrderVerb,
    ...(isTime ? { expiresAtMs: at(how) } : { drain: (how ?? null) as 'skip' | 'force' | null }),
  });
}

const WORDS: Readonly<Record<string, (...of: string[]) => FactChange>> = {
  slot: () => ({ row: null, listed: null }),
  device: () => ({ listed: facts.device() }),
  free: () => ({ listed: facts.free() }),
  unlisted: () => ({ listed: null }),
  partial: () => ({ listingComplete: false }),
  started: (t = '0') => ({ row: { agentStarted: facts.agentStarted(ago(t)) } }),
  beat: (t = '0') => ({ row: { heartbeat: beat(t) } }),
  heard: (t = '0') => ({
    row: { agentStarted: facts.agentStarted(ago('1h')), heartbeat: beat(t) },
  }),
  /** Silent for this much longer than allowed. */
  lost: (t = '1ms') => ({
    row: {
      agentStarted: facts.agentStarted(ago('9h')),
      heartbeat: { atMs: ago(t) - DEFAULT_LOSS.heartbeatMs, bootId: 'boot-1' },
    },
  }),
  created: (t = '0') => ({ row: { createdAtMs: ago(t) } }),
  order: (verb = 'reboot', how) => ({ row: { order: order(verb, how) } }),
  work: (name = '') => ({ row: { work: [facts.liveWork(process(name))] } }),
  backoff: (name = '', until = '0', cause = 'it failed') => ({
    row: { backoffs: [facts.backoff(process(name), at(until), cause.replaceAll('_', ' '))] },
  }),
  permit: () => ({ row: { permit: true } }),
  /** A reboot was requested, and the ladder continues at that time. */
  next: (t = '0') => ({
    row: {
      recovery: facts.ladderRow({
        ...{ attempts: 1, askedAtMs: NOW_MS, askedRung: 'rebooting' },
        nextAtMs: at(t),
      }),
    },
  }),
  newer: () => ({ row: { unknownRung: 'soaking' } }),
  /** Failed agent starts; the last one was that long ago. */
  failures: (count = '6', t?: string) => ({
    row: { startAttempt: { atMs: t ? ago(t) : null, count: Number(count), unreached: 0 } },
  }),
  quarantine: (kind = '', until?: string) => ({
    row: {
      quarantine: { kind: kind as 'conflict', reason: 'because', untilMs: end(until), cause: null },
    },
  }),
  deprovision: (drain?: string) => ({
    row: { deprovision: facts.deprovisionAsked({ drain: (drain ?? null) as 'skip' | null }) },
  }),
  status: (status = '') => ({ row: { provided: facts.provided({ status: status as 'Running' }) } }),
  bare: () => ({ row: { provided: null } }),
  install: (state = '') => ({ row: { installation: INSTALLATIONS[state as 'due'] } }),
  unreadable: () => ({ row: { unreadable: 'it is new; upgrade' } }),
  conflict: () => ({ conflict: 'two devices' }),
  hold: (kind = '', until?: string) => ({ holds: [facts.hold(kind as 'preserve', end(until))] }),
  /** A hold that begins at a time. */
  planned: (kind = '', from = '0', until?: string) => ({
    holds: [facts.hold(kind as 'preserve', end(until), at(from))],
  }),
  intent: () => ({ intent: facts.intentRow() }),
  penalty: (t = '0') => ({ penalty: facts.penaltyRow(at(t)) }),
  request: (key = 'request-1', verb = 'hold', until = '+1h') => ({
    requests: [facts.requestRow({ key, verb: verb as RequestRow['verb'], expiresAtMs: at(until) })],
  }),
  /** A member at `front`; `back` is another balancer; `waived` and `refused` are flags. */
  member: (state = 'active', ...flags: string[]) => ({
    row: {
      members: [
        facts.memberRow({
          state: state as 'active',
          ...(flags.includes('back') && { balancer: 'back' }),
          ...(state === 'drained' && { how: 'no-sessions' }),
          ...(state === 'draining' && { deadlineMs: Date.UTC(2026, 0, 1, 12, 0, 3), sessions: 3 }),
          ...(flags.includes('waived') && { waived: true }),
          ...(flags.includes('refused') && { refused: true }),
        }),
      ],
    },
  }),
};

/** Merges the lists of several words into one list. */
function joined<Of extends object>(before: Of, change: Of): Of {
  const merged = { ...before } as Record<string, unknown>;
  for (const [key, value] of Object.entries(change)) {
    const known = merged[key];
    merged[key] = Array.isArray(value) && Array.isArray(known) ? [...known, ...value] : value;
  }
  return merged as Of;
}

export function factsOf(words: string, more: Partial<MachineRow> = {}): SlotFacts {
  let known = facts.slotFacts({ listed: facts.device() });
  let row: MachineRow | null = facts.machineRow();
  for (const phrase of words.split(', ')) {
    if (phrase === '') continue;
    const [word = '', ...of] = phrase.split(' ');
    const says = WORDS[word];
    if (!says) throw new Error(`no word says "${phrase}"`);
    const { row: change, ...rest } = says(...of);
    known = joined(known, rest as SlotFacts);
    if (change === null) row = null;
    else if (change) row = joined(row ?? facts.machineRow(), change as MachineRow);
  }
  return { ...known, row: row && { ...row, ...more } };
}

export const rowOf = (words: string, more: Partial<MachineRow> = {}): MachineRow =>
  factsOf(words, more).row!;

/** Rows of a table in a text, one per line, with arrows between cells. */
export const rowsIn = (table: string): [string, string][] =>
  table
    .trim()
    .split('\n')
    .map((line) => line.split('→').map((cell) => cell.trim()) as [string, string]);
