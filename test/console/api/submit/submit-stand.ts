import Fastify from 'fastify';
import type { LightMyRequestResponse } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { ANONYMOUS, type Person } from '../../../../src/console/access/port.ts';
import type { SubmissionDeps } from '../../../../src/console/api/submit/submit.ts';
import { addSubmission } from '../../../../src/console/api/submit/requests.ts';
import { API, prepareApi } from '../../../../src/console/api/kit.ts';
import { addFailures } from '../../../../src/console/api/failures.ts';
import type { FleetView, MachineEntry } from '../../../../src/console/port.ts';
import { assembleFacts, type KnownListing } from '../../../../src/domain/assemble.ts';
import type { ProviderName, Slot } from '../../../../src/domain/ids.ts';
import type { SlotFacts } from '../../../../src/domain/machine.ts';
import type { ProviderMeans } from '../../../../src/domain/submission/prospects.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { viewOf } from '../../../../src/domain/view.ts';
import { createMemBmdb } from '../../../doubles/mem-bmdb/mem-bmdb.ts';
import { createSeededRandom, createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { fleetIn } from '../../../commands/machine-stand.ts';

export { slotName } from '../../../commands/machine-stand.ts';

export const SIGNAL = new AbortController().signal;

export const person = (change: Partial<Person> = {}): Person => ({
  ...ANONYMOUS,
  name: 'token:ann',
  identity: 'token:0123456789',
  role: 'admin',
  via: 'token',
  proven: true,
  ...change,
});

/** The API over a BMDB in memory, in virtual time, called by a person whom the test chooses. */
export type SubmissionStand = Awaited<ReturnType<typeof createSubmissionStand>>;

export interface AskOptions {
  readonly key?: string | undefined;
  readonly seen?: string;
  readonly dryRun?: boolean;
  readonly prefer?: string;
}

export interface SubmissionResponse {
  readonly status: number;
  readonly headers: LightMyRequestResponse['headers'];
  readonly text: string;
  // Each test states its own expectation.
  readonly body: Readonly<Record<string, unknown>>;
}

export async function createSubmissionStand() {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  let failure: Error | null = null;
  const orFail = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    (async (...args: Args) => {
      // Answers later, like a database.
      await new Promise(setImmediate);
      if (failure) throw failure;
      return call(...args);
    }) satisfies typeof call;
  const requests: Bmdb['requests'] = {
    submit: orFail(bmdb.requests.submit),
    submitBatch: orFail(bmdb.requests.submitBatch),
    readBatch: orFail(bmdb.requests.readBatch),
    read: orFail(bmdb.requests.read),
    list: orFail(bmdb.requests.list),
  };
  const listings = new Map<ProviderName, KnownListing>();
  let entries = new Map<Slot, MachineEntry>();
  let facts = new Map<Slot, SlotFacts>();
  let around = await bmdb.scan(SIGNAL);
  const fleet = {
    get entries() {
      return entries;
    },
    facts: (slot: Slot) => facts.get(slot),
    isElsewhere: () => false,
    isWhole: () => stand.isWhole,
  } as unknown as FleetView;
  const app = Fastify();
  const stand: {
    /** The caller from now on. */
    asker: Person;
    /** Capabilities of providers; null: unknown here. */
    means: ProviderMeans | null;
    /** Whether all machines are known. */
    isWhole: boolean;
  } = { asker: person(), means: null, isWhole: true };
  app.decorateRequest('person');
  app.addHook('onRequest', async (request) => {
    request.person = stand.asker;
  });
  addFailures(app, silentLog);
  const asks: string[] = [];
  const submission: SubmissionDeps = {
    fleet,
    requests,
    clock,
    loss: DEFAULT_LOSS,
    providers: ['metal', 'other'],
    guard: () => around.guard,
    pools: () => around.pools,
    nowMs: () => clock.now(),
    givingBack: () => 'the device is deleted',
    givesBack: () => false,
    means: async () => stand.means,
    onAsked: (...told) => void asks.push(told.join(' ')),
  };
  await app.register(
    async (scope) => {
      await prepareApi(scope);
      addSubmission(scope.withTypeProvider<ZodTypeProvider>(), submission);
    },
    { prefix: API },
  );
  const { add, daemon, driven } = fleetIn(bmdb, clock);
  const told = async (answered: Promise<LightMyRequestResponse>): Promise<SubmissionResponse> => {
    const { statusCode: status, headers, body: text } = await driven(answered);
    const isJson = /[/+]json/.test(String(headers['content-type'])) && !text.includes('\n');
    return {
      status,
      headers,
      text,
      body: isJson ? (JSON.parse(text) as SubmissionResponse['body']) : {},
    };
  };
  let asked = 0;
  return Object.assign(stand, {
    ...{ bmdb, clock, app, listings, add, daemon },
    /** Counted calls: verb, means of identification, outcome. */
    asks,
    /** The console sees the fleet as it is now, and not again until the next call. */
    look: async () => {
      around = await bmdb.scan(SIGNAL);
      facts = assembleFacts(around, listings);
      const moment = { nowMs: around.nowMs, loss: DEFAULT_LOSS };
      entries = new Map(
        [...facts.values()].map((each) => {
          const view = viewOf(each, moment);
          const { state, substate } = view;
          return [each.slot, { view, state, substate, sinceMs: around.nowMs, last: null }];
        }),
      );
    },
    ask: (body: object, { key, seen, dryRun, prefer }: AskOptions = {}) =>
      told(
        app.inject({
          method: 'POST',
          url: `/api/v1/requests${dryRun ? '?dryRun=true' : ''}`,
          headers: {
            'idempotency-key': key ?? `key-${asked++}`,
            ...(seen !== undefined && { 'if-match': seen }),
            ...(prefer !== undefined && { prefer }),
          },
          payload: body,
        }),
      ),
    get: (path: string, headers = {}) => told(app.inject({ url: `/api/v1/${path}`, headers })),
    remove: (path: string) => told(app.inject({ method: 'DELETE', url: `/api/v1/${path}` })),
    /** Keys of the stored requests, oldest first. */
    keys: async () => {
      const all = await bmdb.requests.list({ limit: 1_000 }, SIGNAL);
      return all.map(({ key }) => key).toReversed();
    },
    /** Replaces the answers of the BMDB to submitting calls, until called with null. */
    breakSubmission: (error: Error | null) => {
      failure = error;
    },
    close: () => app.close(),
  });
}
