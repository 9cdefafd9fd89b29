import type { Clock } from '../clock/port.ts';

export interface BatcherOptions<Item, Answer> {
  readonly clock: Clock;
  /** How long the first item of a batch waits for others. */
  readonly collectMs: number;
  readonly sizeMax: number;
  /** Two items with the same key are never in one batch; the later one waits for the next. */
  readonly keyOf: (item: Item) => string;
  /** Handles a batch; answers in its order. One runs at a time. */
  readonly run: (batch: readonly Item[]) => Promise<readonly Answer[]>;
}

export interface Batcher<Item, Answer> {
  /** Rejects with the error of the batch the item was in. */
  submit(item: Item): Promise<Answer>;
  /** Items that wait, those of the running batch not counted. */
  readonly waiting: number;
  /** Does not collect any longer; resolves when nothing waits or runs. */
  flush(): Promise<void>;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Turns many calls into few: while one batch runs the next collects. A batch starts when it is
 * full, or when its first item has waited long enough.
 */
export function createBatcher<Item, Answer>(
  options: BatcherOptions<Item, Answer>,
): Batcher<Item, Answer> {
  const { clock, collectMs, sizeMax } = options;
  let queue: Waiting<Item, Answer>[] = [];
  let running: Promise<void> | null = null;
  let timer: unknown = null;
  let ripe = false;

  const start = () => {
    if (running || queue.length === 0) return;
    if (!ripe && queue.length < sizeMax) {
      timer ??= clock.setTimeout(ripen, collectMs);
      return;
    }
    clock.clearTimeout(timer);
    timer = null;
    ripe = false;
    const [batch, rest] = takeBatch(queue, sizeMax, options.keyOf);
    queue = rest;
    running = runBatch(batch, options.run).then(() => {
      running = null;
      start();
    });
  };
  const ripen = () => {
    timer = null;
    ripe = true;
    start();
  };
  return {
    get waiting() {
      return queue.length;
    },
    submit: (item) =>
      new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject });
        // Also while a batch runs: the wait of the next one's first item counts from here.
        if (running && !ripe) timer ??= clock.setTimeout(ripen, collectMs);
        start();
      }),
    async flush() {
      while (running || queue.length > 0) {
        ripe = true;
        start();
        await running;
      }
    },
  };
}

function takeBatch<Item, Answer>(
  queue: readonly Waiting<Item, Answer>[],
  sizeMax: number,
  keyOf: (item: Item) => string,
): [batch: Waiting<Item, Answer>[], rest: Waiting<Item, Answer>[]] {
  const batch: Waiting<Item, Answer>[] = [];
  const rest: Waiting<Item, Answer>[] = [];
  const keys = new Set<string>();
  for (const waiting of queue) {
    const key = keyOf(waiting.item);
    if (batch.length === sizeMax || keys.has(key)) rest.push(waiting);
    else {
      keys.add(key);
      batch.push(waiting);
    }
  }
  return [batch, rest];
}

async function runBatch<Item, Answer>(
  batch: readonly Waiting<Item, Answer>[],
  run: BatcherOptions<Item, Answer>['run'],
): Promise<void> {
  try {
    const answers = await run(batch.map(({ item }) => item));
    if (answers.length !== batch.length) {
      throw new Error(`${answers.length} answers to a batch of ${batch.length}`);
    }
    batch.forEach(({ resolve }, index) => resolve(answers[index]!));
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
