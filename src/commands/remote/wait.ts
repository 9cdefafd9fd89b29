import { UsageError } from '../../domain/errors.ts';
import { HOLD_KINDS } from '../../domain/machine.ts';
import { STATES, SUBSTATES } from '../../domain/states.ts';
import type { Machine } from './answers.ts';
import { EXIT_FAILED, EXIT_NOT_SETTLED, interruptOf, isAway } from './failures.ts';
import { named, pathOf, type NamedMachine } from './names.ts';
import type { Session, CommandOutput } from './session.ts';

/** A condition on a machine. */
export interface WaitCondition {
  readonly text: string;
  readonly isMet: (machine: Machine) => boolean;
  /** Why the condition cannot become true by itself; null: it can. */
  readonly barredBy: (machine: Machine) => string | null;
}

const SLASHED = /^([^/]+)\/(.+)$/;

/**
 * Reads `state=Running`, `state=Running/healthy`, `hold=no-recover`, `no-hold=no-recover`, `no-request`.
 * @throws {UsageError} the text is not a condition.
 */
export function wantedOf(text: string): WaitCondition {
  if (text === 'no-request') {
    return { text, isMet: ({ requests }) => requests.length === 0, barredBy: () => null };
  }
  const [, what, value = ''] = /^([a-z-]+)=(.+)$/.exec(text) ?? [];
  if (what === 'state') return { text, ...stateWanted(value) };
  const kind = HOLD_KINDS.find((each) => each === value);
  if (kind !== undefined && (what === 'hold' || what === 'no-hold')) {
    const isHeld = ({ holds }: Machine) => holds.includes(kind);
    const isMet = what === 'hold' ? isHeld : (machine: Machine) => !isHeld(machine);
    return { text, isMet, barredBy: () => null };
  }
  throw new UsageError(
    `--for ${text} is not a condition; give state=Running, state=Running/healthy, hold=no-recover, ` +
      'no-hold=no-recover or no-request',
  );
}

function stateWanted(value: string): Omit<WaitCondition, 'text'> {
  const [, outer = value, inner] = SLASHED.exec(value) ?? [];
  const state = STATES.find((each) => each.toLowerCase() === outer.toLowerCase());
  if (state === undefined) {
    throw new UsageError(`"${outer}" is not a state; give one of ${STATES.join(', ')}`);
  }
  const known = SUBSTATES[state].map((each) => each.toLowerCase());
  if (inner !== undefined && !known.includes(inner.toLowerCase())) {
    throw new UsageError(
      `"${inner}" is not a substate of ${state}; give one of ${SUBSTATES[state].join(', ')}`,
    );
  }
  return {
    isMet: (machine) =>
      machine.state === state &&
      (inner === undefined || machine.substate.toLowerCase() === inner.toLowerCase()),
    barredBy: (machine) => barred(machine, state),
  };
}

/** States that a machine leaves only through a person, or never. */
function barred({ state, substate, reason }: Machine, wanted: string): string | null {
  const why = reason === null ? '' : ` (${reason})`;
  if (state === 'HandedOver' && wanted !== 'HandedOver') return 'it was handed over';
  if (state === 'Quarantined' && substate !== 'byOperator' && wanted !== 'Quarantined') {
    return `it is quarantined${why}, so a person must act`;
  }
  if (state === 'Provisioned' && substate === 'failed' && wanted !== 'Deprovisioning') {
    return `its installation failed for good${why}`;
  }
  return null;
}

export interface WaitFlags {
  readonly exact: boolean;
  readonly for: string;
  /** Milliseconds. */
  readonly timeout: number;
}

const LOOK_MS = 500;
/** A console that was just started may need this long until it knows all machines. */
const FILLING_MS = 15_000;

/**
 * `shepherd machine wait`: waits until a machine meets a condition. Exit status: 0 reached, 1 can no longer be reached,
 * 3 timed out. A console that does not answer is asked again.
 */
export async function waitForMachine(
  { client, monotonic, sleep, signal }: Session,
  flags: WaitFlags,
  name: string,
): Promise<CommandOutput> {
  const wanted = wantedOf(flags.for);
  const endMs = monotonic() + flags.timeout;
  const look = lookerFor(name, flags.exact, client, monotonic);
  let last: Machine | null = null;
  for (;;) {
    const told = (outcome: string, exitCode: number): CommandOutput => {
      const { slot = name, state = null, substate = null, atMs = null } = last ?? {};
      const how = state === null ? 'it was not found' : `it is ${state} · ${substate}`;
      return {
        document: { slot, for: wanted.text, outcome, state, substate, atMs },
        ...{ names: [slot], text: `${slot}: ${outcome}; ${how}`, exitCode },
      };
    };
    const seen: MachineReading = await look().catch((error: unknown) => {
      if (signal.aborted || isAway(error)) return { away: (error as Error).message };
      throw error;
    });
    if ('machine' in seen) {
      last = seen.machine;
      if (wanted.isMet(last)) return told(`${wanted.text} is reached`, 0);
    }
    const bar = 'machine' in seen ? wanted.barredBy(seen.machine) : (seen.gone ?? null);
    if (bar !== null) return told(`${wanted.text} can no longer be reached: ${bar}`, EXIT_FAILED);
    const cut = () => told(`the wait for ${wanted.text} was stopped`, interruptOf(signal).exitCode);
    if (signal.aborted) return cut();
    const leftMs = endMs - monotonic();
    const away = 'away' in seen && seen.away !== undefined ? ` (${seen.away})` : '';
    if (leftMs <= 0)
      return told(`timed out: ${wanted.text} is not reached${away}`, EXIT_NOT_SETTLED);
    await sleep(Math.min(LOOK_MS, leftMs));
    if (signal.aborted) return cut();
  }
}

/** A machine; or why it is not visible now; or why it will never be visible. */
type MachineReading =
  | { readonly machine: Machine }
  | { readonly away?: string; readonly gone?: string };

/** Always looks at the machine that the name meant first, even if the name means another machine later. */
function lookerFor(
  name: string,
  exact: boolean,
  client: Session['client'],
  monotonic: Session['monotonic'],
): () => Promise<MachineReading> {
  let meant: NamedMachine | null = null;
  let unseenMs: number | null = null;
  // A console that was just started does not know all machines at once.
  const unseen = (gone: string): MachineReading => {
    unseenMs ??= monotonic();
    return monotonic() - unseenMs < FILLING_MS ? { away: gone } : { gone };
  };
  return async () => {
    meant ??= await named(client, name, exact);
    const { slot, asked, machineId } = meant;
    const machine = await client.find<Machine>(pathOf(slot));
    if (machine === null) return unseen(`no daemon knows ${slot} any more`);
    const isOther = asked === machineId && machine.machineId !== machineId;
    if (isOther && machine.machineId === null) return unseen(`${machineId} is gone from ${slot}`);
    if (isOther) return { gone: `${machineId} is gone, and another machine is on ${slot}` };
    unseenMs = null;
    return { machine };
  };
}
