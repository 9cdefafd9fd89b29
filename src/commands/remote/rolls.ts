import type { OrderVerb } from '../../domain/verbs.ts';
import { timeText } from '../layout.ts';
import type { Roll, RollPlan, Rolls } from './answers.ts';
import { EXIT_FAILED, interruptOf } from './failures.ts';
import { formatOf, type CommonFlags } from './flags.ts';
import { isData, toldList, type Column } from './output.ts';
import type { CommandOutput, Session } from './session.ts';

export interface RollFlags extends CommonFlags {
  readonly action: OrderVerb;
  readonly filter: string;
  readonly reason: string;
  readonly canary: number;
  readonly batch: string;
  /** Milliseconds. */
  readonly pause: number;
  readonly stopOnFailure: boolean;
  readonly drain: boolean;
  readonly expectCount?: number;
  readonly dryRun: boolean;
  readonly yes: boolean;
  readonly wait: boolean;
}

const LOOK_MS = 2_000;
const BAR_WIDTH = 24;

/** `shepherd fleet roll`: begins a rolling action, and shows its progress until it ends. */
export async function startRoll(session: Session, flags: RollFlags): Promise<CommandOutput> {
  const { client } = session;
  const isUnconfirmed = flags.action === 'reinstall' && !flags.yes;
  const isDry = flags.dryRun || isUnconfirmed;
  const { action, filter, reason, canary, batch, stopOnFailure, expectCount } = flags;
  const answer = await client.send<Roll | RollPlan>('POST', '/rolls', {
    body: {
      ...{ action, filter, reason, canary, batch, stopOnFailure, pauseMs: flags.pause },
      drain: flags.drain ? null : 'skip',
      ...(expectCount !== undefined && { expectCount }),
    },
    query: isDry ? { dryRun: 'true' } : {},
    headers: { 'idempotency-key': session.uuid() },
  });
  if ('dryRun' in answer) return planOutput(answer, isUnconfirmed && !flags.dryRun);
  return flags.wait ? follow(session, answer) : rollOutput(answer);
}

function planOutput(plan: RollPlan, needsYes: boolean): CommandOutput {
  const lines = plan.batches.map((batch, at) => `    ${at + 1}  ${batch.join(', ')}`);
  const count = `${plan.count} ${plan.count === 1 ? 'machine' : 'machines'}`;
  const hint = needsYes ? 'confirm with --yes' : `confirm with --expect-count ${plan.count}`;
  return {
    ...{ document: plan, names: plan.batches.flat() },
    text: [
      `${plan.action} of ${count}, in these batches:`,
      ...lines,
      `nothing was done; ${hint}`,
    ].join('\n'),
  };
}

/** Shows the progress until the roll ends or is paused. An interrupt leaves it going on. */
async function follow(session: Session, begun: Roll): Promise<CommandOutput> {
  const { client, sleep, signal, format } = session;
  const show = session.isTerminal && !isData(format) ? await drawing(session) : null;
  let roll = begun;
  while (roll.state === 'running' && !signal.aborted) {
    show?.draw(roll);
    await sleep(LOOK_MS);
    if (!signal.aborted) roll = await client.get<Roll>(`/rolls/${roll.id}`);
  }
  show?.end();
  if (roll.state !== 'running') return rollOutput(roll);
  session.say('the rolling action goes on without this command');
  return { ...rollOutput(roll), exitCode: interruptOf(signal).exitCode };
}

async function drawing({ paint }: Session) {
  const { createLogUpdate } = await import('log-update');
  const update = createLogUpdate(process.stdout, { showCursor: true });
  return { draw: (roll: Roll) => update(paint(progressText(roll))), end: () => update.clear() };
}

/** A bar, the count, and what it waits for. */
export function progressText({ position, count, note }: Roll): string {
  const full = Math.round((BAR_WIDTH * position) / Math.max(1, count));
  const bar = '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
  return `${bar} ${position}/${count}${note === null ? '' : `\n${note}`}`;
}

function rollOutput(roll: Roll): CommandOutput {
  const { id, action, state, note, position, count, failures } = roll;
  const why = note === null ? '' : `: ${note}`;
  const lines = failures.map(({ slot, why: cause }) => `    ${slot}: ${cause}`);
  return {
    ...{ document: roll, names: [id] },
    text: [`${id}: ${action} of ${position}/${count} machines is ${state}${why}`, ...lines].join(
      '\n',
    ),
    exitCode: state === 'stopped' || state === 'aborted' || failures.length > 0 ? EXIT_FAILED : 0,
  };
}

/** `shepherd fleet roll pause`, `resume`, `abort`. */
export const controlRoll =
  (verb: 'pause' | 'resume' | 'abort') =>
  async ({ client }: Session, _flags: CommonFlags, id: string): Promise<CommandOutput> => {
    const path = `/rolls/${encodeURIComponent(id)}/${verb}`;
    return { ...rollOutput(await client.send<Roll>('POST', path, {})), exitCode: 0 };
  };

/** `shepherd fleet rolls`: the last rolling actions. */
export async function listRolls({ client }: Session, flags: CommonFlags): Promise<CommandOutput> {
  const document = await client.get<Rolls>('/rolls');
  return toldList(
    { rows: document.rolls, columns: COLUMNS, nameOf: ({ id }) => id, document },
    { format: formatOf(flags), headers: true },
  );
}

const COLUMNS: readonly Column<Roll>[] = [
  { name: 'id', of: ({ id }) => id },
  { name: 'action', of: ({ action }) => action },
  { name: 'state', of: ({ state }) => state },
  { name: 'machines', of: ({ position, count }) => `${position}/${count}` },
  { name: 'by', of: ({ by }) => by },
  { name: 'created', of: ({ createdAtMs }) => timeText(createdAtMs) },
  { name: 'note', of: ({ note }) => note ?? '' },
];
