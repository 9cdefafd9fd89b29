import { givingBackOf } from '../../config/giving-back.ts';
import { askedOf, machinesMeant } from '../../domain/filing/asks.ts';
import { lossOf } from '../../domain/filing/loss.ts';
import { isBulk, requireCount } from '../../domain/filing/selection.ts';
import type { Selected, Selector } from '../../domain/filing/selection.ts';
import { MEANINGS, type Wish } from '../../domain/filing/verbs.ts';
import { isOrder } from '../../domain/requests.ts';
import { askAll, exitCodeOf, type Answer, type Ask } from './ask.ts';
import { answersText } from './answers-text.ts';
import { jsonLine } from '../text-table.ts';
import { CLI_WORDS } from './options.ts';
import { readFleet, requireWhoAndWhy, type AskOptions, type Means, type Told } from './command.ts';
import { columnLines, paragraph } from './layout.ts';
import { whyOpen } from './why-open.ts';

export interface VerbOptions extends AskOptions {
  /** @param nowMs database clock, epoch ms. */
  readonly wish: (nowMs: number) => Wish;
  readonly selector: Selector;
  /** How many machines the selector must mean; may be left out for one that is named. */
  readonly expectCount?: number | undefined;
  /** Only tell. */
  readonly dryRun: boolean;
  /** Agrees to what cannot be undone; otherwise it is only told. */
  readonly yes: boolean;
}

/** Decisions take a daemon a moment. */
const DECISION_WAIT_MS = 30_000;

/**
 * `shepherd machine <verb>`: files requests, which daemons carry out, and waits for them.
 * @throws {UsageError} what is meant is not clear, or not what was expected: nothing was done.
 * @throws {NotFound} a name means nothing: nothing was done.
 */
export async function runVerb(options: VerbOptions, means: Means): Promise<Told> {
  requireWhoAndWhy(options);
  const fleet = await readFleet(means);
  const wish = options.wish(fleet.read.nowMs);
  const { isDestructive } = MEANINGS[wish.verb];
  const { selector } = options;
  const selected = machinesMeant(fleet, wish, { selector, words: CLI_WORDS });
  if (options.dryRun) {
    if (options.expectCount !== undefined)
      requireCount(selected.length, options.expectCount, CLI_WORDS);
    return told(options, wish, selected, means);
  }
  requireConfirmed(options, selected);
  if (isDestructive && !options.yes) return told(options, wish, selected, means);
  return ask(options, wish, selected, means);
}

function requireConfirmed({ selector, expectCount }: VerbOptions, selected: readonly Selected[]) {
  if (isBulk(selector) || expectCount !== undefined)
    requireCount(selected.length, expectCount, CLI_WORDS);
}

async function ask(
  options: VerbOptions,
  wish: Wish,
  selected: readonly Selected[],
  means: Means,
): Promise<Told> {
  const key = options.key ?? means.random.uuid();
  const asks = asksOf(options, wish, selected, key);
  const waitMs = options.waitMs ?? (isOrder(wish.verb) ? 0 : DECISION_WAIT_MS);
  const answers = await askAll(asks, { ...means, waitMs });
  const exitCode = exitCodeOf(answers, waitMs > 0);
  if (options.json) {
    return { text: jsonLine(asJson(wish, key, answers)), exitCode };
  }
  const isOpen = answers.some(({ state }) => state === 'open');
  const asked = { isOrder: isOrder(wish.verb), waited: waitMs > 0 };
  const why = isOpen ? await whyOpen(asked, means) : [];
  const notes = [...unrecorded(selected), ...why];
  return { text: answersText({ verb: wish.verb, key, answers, why: notes, ...means }), exitCode };
}

const unrecorded = (selected: readonly Selected[]): string[] =>
  selected
    .filter(({ entry }) => entry === null)
    .map(
      ({ slot }) => `no machine is recorded for slot ${slot}; its name was taken as it is written`,
    );

/** @throws {UsageError} a key would be too long. */
function asksOf(
  { by, reason, validForMs, selector }: VerbOptions,
  wish: Wish,
  selected: readonly Selected[],
  key: string,
): Ask[] {
  const several = isBulk(selector);
  return askedOf(wish, selected, { key, several, word: '--key' }).map((asked): Ask => {
    const { slot, machineId } = asked.selected;
    const { key: own, what } = asked;
    const valid = validForMs !== undefined && { validForMs };
    return { of: slot, machineId, request: { key: own, by, reason, ...valid, what } };
  });
}

const asJson = ({ verb }: Wish, key: string, answers: readonly Answer[]) => ({
  verb,
  key,
  dryRun: false,
  requests: answers.map(({ of, ...rest }) => ({ slot: of, ...rest })),
});

function told(
  options: VerbOptions,
  wish: Wish,
  selected: readonly Selected[],
  { width, config }: Means,
): Told {
  const { verb } = wish;
  const { would, isDestructive } = MEANINGS[verb];
  const providers = selected.map(({ provider }) => provider);
  const warning = lossOf(wish, providers, givingBackOf(config));
  if (options.json) {
    const requests = selected.map(({ slot, machineId }) => ({ slot, machineId, state: 'untried' }));
    return { text: jsonLine({ verb, key: null, dryRun: true, requests }), exitCode: 0 };
  }
  const confirm = [
    ...(isBulk(options.selector) ? [`--expect-count ${selected.length}`] : []),
    ...(isDestructive ? ['--yes'] : []),
  ].join(' ');
  const lines = columnLines(
    selected.map(({ slot, entry }) => [
      `    ${slot}`,
      entry === null ? 'nothing is recorded of it' : placeText(entry.view),
    ]),
  );
  const head = warning === null ? `would ${would}:` : `would ${would}; ${warning}:`;
  const how = confirm === '' ? '' : `; confirm with ${confirm}`;
  return {
    text: [paragraph(head, width), ...lines, `nothing was done${how}`].join('\n'),
    exitCode: 0,
  };
}

const placeText = ({ state, substate }: { readonly state: string; readonly substate: string }) =>
  `${state} · ${substate}`;
