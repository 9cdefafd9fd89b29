import type { Bmdb, NewRequest, RequestState } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import { untilSettled } from '../../console/api/filing/settled.ts';
import { explain, FleetError, NotFound, NothingToDo, UsageError } from '../../domain/errors.ts';

/** One request, and what it is called when it is told of. */
export interface Ask {
  /** A slot, `fleet`, or a provider. */
  readonly of: string;
  readonly machineId: string | null;
  readonly request: NewRequest;
}

/**
 * `refused`: by a daemon, or when it was filed. `mistaken`: it makes no sense, or its key was used
 * for something else. `unfiled`: nobody knows of it.
 */
export type Standing = RequestState['state'] | 'mistaken' | 'unfiled';

/** How a request stands. */
export interface Answer {
  readonly of: string;
  readonly machineId: string | null;
  readonly key: string;
  readonly state: Standing;
  /** What became of it, for people; null while open. */
  readonly outcome: string | null;
  readonly settledAtMs: number | null;
  readonly expiresAtMs: number | null;
}

export interface AskMeans {
  readonly bmdb: Pick<Bmdb, 'requests'>;
  readonly clock: Clock;
  /** Stops filing, or waiting. */
  readonly signal: AbortSignal;
  /** How long to wait until daemons have settled them; 0: not at all. */
  readonly waitMs: number;
}

/**
 * Files requests one after the other, and waits until they are settled. Never throws for one of
 * them: each has its answer, in the same order. When the database fails, or on the signal, the rest
 * is not filed; asking again with the same keys files only what is missing.
 */
export async function askAll(asks: readonly Ask[], means: AskMeans): Promise<Answer[]> {
  const filed = await fileAll(asks, means);
  return waitFor(filed, means);
}

async function fileAll(asks: readonly Ask[], { bmdb, signal }: AskMeans): Promise<Answer[]> {
  const answers: Answer[] = [];
  let failure: string | null = null;
  for (const ask of asks) {
    if (signal.aborted) failure ??= 'stopped before it';
    if (failure !== null) {
      answers.push(answerOf(ask, 'unfiled', failure));
      continue;
    }
    try {
      answers.push(standing(ask, await bmdb.requests.file(ask.request)));
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      const state = refusedAs(error);
      const isUnknown = state === 'unfiled';
      answers.push(
        answerOf(ask, state, `${isUnknown ? 'not known to be filed: ' : ''}${explain(error)}`),
      );
      if (isUnknown) failure = 'one before it failed';
    }
  }
  return answers;
}

function refusedAs(error: FleetError): Standing {
  if (error instanceof UsageError) return 'mistaken';
  return error instanceof NotFound || error instanceof NothingToDo ? 'refused' : 'unfiled';
}

const answerOf = (ask: Ask, state: Standing, outcome: string): Answer => ({
  of: ask.of,
  machineId: ask.machineId,
  key: ask.request.key,
  state,
  outcome,
  settledAtMs: null,
  expiresAtMs: null,
});

const standing = (
  { of, machineId }: Pick<Answer, 'of' | 'machineId'>,
  { key, state, outcome, settledAtMs, expiresAtMs }: RequestState,
): Answer => ({ of, machineId, key, state, outcome, settledAtMs, expiresAtMs });

const waitFor = (filed: Answer[], means: AskMeans): Promise<Answer[]> =>
  untilSettled(
    filed,
    { isOpen: (answers) => answers.some(isOpen), read: (answers) => readAgain(answers, means) },
    means,
  );

const isOpen = ({ state }: Answer): boolean => state === 'open';

/** What cannot be read now is looked for again: it is filed, whatever happens to us. */
async function readAgain(answers: Answer[], { bmdb, signal }: AskMeans): Promise<Answer[]> {
  const open = answers.filter(isOpen).map(({ key }) => key);
  const found = await bmdb.requests.read(open, signal).then(
    (states) => new Map(states.map((state) => [state.key, state])),
    () => new Map<string, RequestState>(),
  );
  return answers.map((answer) => {
    const state = found.get(answer.key);
    return state ? standing(answer, state) : answer;
  });
}

/** Worst last: of several, the exit code is the worst one's. */
const CODES: readonly (readonly [Standing, number])[] = [
  ['done', 0],
  ['open', 3],
  ['unfiled', 1],
  ['refused', 1],
  ['mistaken', 2],
];

/**
 * 0: all is done, or filed where that was all that was asked for. 3: something is not settled.
 * 1: something was refused or could not be filed. 2: something makes no sense.
 */
export function exitCodeOf(answers: readonly Answer[], waits: boolean): number {
  const worst = Math.max(
    ...answers.map(({ state }) => CODES.findIndex(([each]) => each === state)),
  );
  const [state, code] = CODES[worst] ?? ['done', 0];
  return state === 'open' && !waits ? 0 : code;
}
