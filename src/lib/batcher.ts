/** The result of one item of a batch; a failure affects only its item. */
export type Outcome<Result> = { readonly ok: Result } | { readonly error: unknown };

export interface BatcherOptions<Item, Result> {
  /**
   * How long a batch's first item waits for others: called on its arrival; the batch may start when
   * the promise settles in any way.
   */
  readonly collect: () => Promise<void>;
  readonly sizeMax: number;
  /** This number of waiting items starts a batch at once; default `sizeMax`. */
  readonly sizeEnough?: number;
  /** Maximum number of simultaneous batches; meanwhile the next one collects. */
  readonly concurrency: number;
  /** Items with one key are handled one after the other, in order of arrival. */
  readonly keyOf: (item: Item) => string;
  /** Handles a batch and answers in its order. A rejection rejects all of its items. */
  readonly run: (batch: readonly Item[]) => Promise<readonly Outcome<Result>[]>;
}

export interface Batcher<Item, Result> {
  /** Rejects with the item's own error, or with the batch's error. */
  submit(item: Item): Promise<Result>;
  /** Number of waiting items, without those in flight. */
  readonly waiting: number;
  /** Stops collecting; resolves when nothing waits or is in flight. */
  flush(): Promise<void>;
}

interface WaitingItem<Item, Result> {
  readonly item: Item;
  readonly key: string;
  readonly resolve: (answer: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines many calls into few. A batch starts when it is large enough, or its first item has
 * waited long enough, and fewer than `concurrency` are in flight. Has no timers of its own.
 */
export function createBatcher<Item, Result>(
  options: BatcherOptions<Item, Result>,
): Batcher<Item, Result> {
  const { sizeMax, sizeEnough = sizeMax, concurrency, keyOf } = options;
  const busy = new Set<string>();
  const running = new Set<Promise<void>>();
  let queue: WaitingItem<Item, Result>[] = [];
  let flushes = 0;
  /** Number of the collecting batch: a wait of an earlier batch is ignored. */
  let collecting = 0;
  let ripe = false;

  const collect = () => {
    ripe = false;
    const mine = ++collecting;
    const onRipe = () => {
      if (mine !== collecting) return;
      ripe = true;
      startAll();
    };
    collected(options).then(onRipe, onRipe);
  };
  /** Whether a batch was started. */
  const start = (): boolean => {
    if (running.size >= concurrency) return false;
    if (!ripe && flushes === 0 && queue.length < sizeEnough) return false;
    const [batch, rest] = takeBatch(queue, sizeMax, busy);
    if (batch.length === 0) return false;
    queue = rest;
    if (queue.length > 0) collect();
    else collecting += 1;
    for (const { key } of batch) busy.add(key);
    const run: Promise<void> = runBatch(batch, options.run).then(() => {
      running.delete(run);
      for (const { key } of batch) busy.delete(key);
      startAll();
    });
    running.add(run);
    return true;
  };
  const startAll = () => {
    while (start());
  };
  return {
    get waiting() {
      return queue.length;
    },
    submit: (item) =>
      new Promise((resolve, reject) => {
        queue.push({ item, key: keyOf(item), resolve, reject });
        if (queue.length === 1) collect();
        startAll();
      }),
    async flush() {
      flushes += 1;
      try {
        for (startAll(); running.size > 0; startAll()) await Promise.race(running);
      } finally {
        flushes -= 1;
      }
    },
  };
}

/** Also rejects when `collect` throws. */
const collected = async ({ collect }: { readonly collect: () => Promise<void> }) => collect();

/** The first items whose keys are neither in flight nor behind an earlier item of the key. */
function takeBatch<Item, Result>(
  queue: readonly WaitingItem<Item, Result>[],
  sizeMax: number,
  busy: ReadonlySet<string>,
): [batch: WaitingItem<Item, Result>[], rest: WaitingItem<Item, Result>[]] {
  const batch: WaitingItem<Item, Result>[] = [];
  const rest: WaitingItem<Item, Result>[] = [];
  const seen = new Set<string>();
  let at = 0;
  for (; at < queue.length && batch.length < sizeMax; at++) {
    const waiting = queue[at]!;
    const barred = busy.has(waiting.key) || seen.has(waiting.key);
    seen.add(waiting.key);
    (barred ? rest : batch).push(waiting);
  }
  return [batch, rest.concat(queue.slice(at))];
}

async function runBatch<Item, Result>(
  batch: readonly WaitingItem<Item, Result>[],
  run: BatcherOptions<Item, Result>['run'],
): Promise<void> {
  try {
    const outcomes = await run(batch.map(({ item }) => item));
    if (outcomes.length !== batch.length) {
      throw new Error(`${outcomes.length} answers to a batch of ${batch.length}`);
    }
    outcomes.forEach((outcome, at) => deliver(batch[at]!, outcome));
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}

function deliver<Item, Result>(waiting: WaitingItem<Item, Result>, outcome: Outcome<Result>): void {
  if ('ok' in outcome) waiting.resolve(outcome.ok);
  else waiting.reject(outcome.error);
}
