import { batchNumber } from '../../domain/rolling.ts';
import type { OrderVerb } from '../../domain/verbs.ts';
import { printableLines, timeText } from '../layout.ts';
import type { Roll, RollPlan, Rolls } from './answers.ts';
import { EXIT_FAILED, interruptOf, isAway } from './failures.ts';
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

const isOpen = ({ state }: Roll): boolean => state === 'running' || state === 'paused';

/** Shows the progress until the roll ends. An interrupt leaves the roll going on. */
async function follow(session: Session, begun: Roll): Promise<CommandOutput> {
  const { client, sleep, signal } = session;
  const show = await showing(session);
  let [roll, away] = [begun, ''];
  while (isOpen(roll) && !signal.aborted) {
    show.progress(roll, away);
    await sleep(LOOK_MS);
    if (signal.aborted) break;
    try {
      [roll, away] = [await client.get<Roll>(`/rolls/${roll.id}`), ''];
    } catch (error) {
      if (!isAway(error) && !signal.aborted) throw error;
      away = (error as Error).message;
    }
  }
  show.end();
  if (!isOpen(roll)) return rollOutput(roll);
  const [goes, verb] = roll.state === 'paused' ? ['stays paused', 'resume'] : ['goes on', 'pause'];
  session.say(
    `the rolling action ${goes} without this command; ${verb} it with "shepherd fleet roll ${verb} ${roll.id}"`,
  );
  return { ...rollOutput(roll), exitCode: interruptOf(signal).exitCode };
}

/** Draws a bar on a terminal. Elsewhere writes a line for each change, and nothing for programs. */
async function showing({ terminal, paint, format, write }: Session) {
  if (isData(format) || format === 'name')
    return { progress: () => undefined, end: () => undefined };
  if (terminal) {
    const update = (await import('../terminal.ts')).redrawing(terminal);
    const progress = (roll: Roll, away: string) =>
      update(paint([barText(roll), noteOf(roll, away)].filter(Boolean).join('\n')));
    return { progress, end: () => update.clear() };
  }
  let last = '';
  const progress = (roll: Roll, away: string) => {
    const line = [countText(roll), noteOf(roll, away)].filter(Boolean).join(': ');
    if (line !== last) write(`${line}\n`);
    last = line;
  };
  return { progress, end: () => undefined };
}

const noteOf = ({ note }: Roll, away: string) => printableLines(away || (note ?? ''));

function barText(roll: Roll): string {
  const full = Math.round((BAR_WIDTH * roll.position) / Math.max(1, roll.count));
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} ${countText(roll)}`;
}

/** `3/12 · batch 2 of 5 · 1 failed · paused`. */
const countText = ({ position, count, batches, failures, state }: Roll): string =>
  [
    `${position}/${count}`,
    `batch ${batchNumber(batches, position)} of ${batches.length}`,
    ...(failures.length > 0 ? [`${failures.length} failed`] : []),
    ...(state === 'running' ? [] : [state]),
  ].join(' · ');

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
