import type { NewRequest } from '../../adapters/bmdb/port.ts';
import { DRIVERS } from '../../adapters/provider/drivers.ts';
import type { Config } from '../../config.ts';
import { NotFound, UsageError } from '../../domain/errors.ts';
import { isOrder } from '../../domain/requests.ts';
import { askAll, exitCodeOf, type Answer, type Ask } from './ask.ts';
import { answersText } from './answers-text.ts';
import { jsonLine, printable } from '../text-table.ts';
import { requireProvider, type RecordedFleet } from './recorded-fleet.ts';
import { readFleet, requireWhoAndWhy, type AskOptions, type Means, type Told } from './command.ts';
import { columnLines, paragraph } from './layout.ts';
import { isBulk, requireCount, select, type Selected, type Selector } from './selection.ts';
import { at, MEANINGS, type Wish } from './verbs.ts';
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
  const { isDestructive, isOfSlot } = MEANINGS[wish.verb];
  const selected = select(fleet, options.selector, isOfSlot !== true);
  if (isOfSlot) requireSense(wish, selected, fleet);
  if (options.dryRun) {
    if (options.expectCount !== undefined) requireCount(selected.length, options.expectCount);
    return told(options, wish, selected, means);
  }
  requireConfirmed(options, selected);
  if (isDestructive && !options.yes) return told(options, wish, selected, means);
  return ask(options, wish, selected, means);
}

function requireConfirmed({ selector, expectCount }: VerbOptions, selected: readonly Selected[]) {
  if (isBulk(selector) || expectCount !== undefined) requireCount(selected.length, expectCount);
}

/**
 * Free slots are not recorded. So one that nothing is known of is believed, as long as its provider
 * is a provider; but only to forbid that a machine is made there, which is all that makes sense.
 */
function requireSense(wish: Wish, selected: readonly Selected[], fleet: RecordedFleet): void {
  for (const { provider } of selected) requireProvider(fleet, provider);
  const empty = selected.find(({ entry }) => entry === null || entry.rows.length === 0);
  if (empty === undefined || wish.verb !== 'hold' || wish.kind === 'no-allocate') return;
  throw new NotFound(
    `no machine is on slot ${empty.slot}; without one, only a hold no-allocate makes sense`,
  );
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
  if (options.json) return { text: jsonLine(asJson(wish, key, answers)), exitCode };
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

const KEY_MAX = 200;

/** @throws {UsageError} a key would be too long. */
function asksOf(
  options: VerbOptions,
  wish: Wish,
  selected: readonly Selected[],
  key: string,
): Ask[] {
  const { by, reason, validForMs } = options;
  const keyOf = isBulk(options.selector) ? (slot: string) => `${key}/${slot}` : () => key;
  return selected.map(({ slot, provider, slotId, machineId }): Ask => {
    const request: NewRequest = {
      key: keyOf(slot),
      by,
      reason,
      ...(validForMs !== undefined && { validForMs }),
      what: at(wish, { provider, slotId, machineId }),
    };
    if (request.key.length <= KEY_MAX) return { of: slot, machineId, request };
    throw new UsageError(
      `"${printable(request.key)}" has more than ${KEY_MAX} characters; give a shorter --key`,
    );
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
  { verb }: Wish,
  selected: readonly Selected[],
  { width, config }: Means,
): Told {
  const { would, isDestructive } = MEANINGS[verb];
  const warning =
    verb === 'deprovision' ? givingBackText(selected, config) : MEANINGS[verb].warning;
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
  const head = warning === undefined ? `would ${would}:` : `would ${would}; ${warning}:`;
  const how = confirm === '' ? '' : `; confirm with ${confirm}`;
  return {
    text: [paragraph(head, width), ...lines, `nothing was done${how}`].join('\n'),
    exitCode: 0,
  };
}

const placeText = ({ state, substate }: { readonly state: string; readonly substate: string }) =>
  `${state} · ${substate}`;

const DELETED = 'the device is deleted, with everything on its disks';

/** What becomes of machines that are given back, in the words of their providers' drivers. */
export function givingBackText(
  selected: readonly Pick<Selected, 'provider'>[],
  { providers }: Pick<Config, 'providers'>,
): string {
  const names = [...new Set(selected.map(({ provider }) => provider))].toSorted();
  const textOf = (name: string): string => {
    const settings = providers[name];
    if (!settings) return 'it waits until its provider is configured';
    return DRIVERS.get(settings.driver)?.givingBack ?? DELETED;
  };
  const [one, ...others] = new Set(names.map(textOf));
  if (one === undefined) return DELETED;
  if (others.length === 0) return one;
  return names.map((name) => `at ${name} ${textOf(name)}`).join('; ');
}
