import { beforeEach, describe, expect, test } from 'vitest';
import { createListings, withListings } from '../../../src/actors/providers/listings.ts';
import type { Listings } from '../../../src/actors/providers/listings.ts';
import type { FleetProvider, Listing } from '../../../src/adapters/provider/port.ts';
import { explain, ProviderError } from '../../../src/domain/errors.ts';
import { PROVIDER } from '../../support/facts.ts';
import { scriptedProvider } from '../../doubles/scripted-provider.ts';
import { advance, createSimulatedClock, settled } from '../../doubles/simulated-clock.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';

const NOTHING: Listing = { machines: [], complete: true };
let clock: VirtualClock;
let listings: Listings;
let calls: { readonly signal: AbortSignal; answer(): void; fail(error: Error): void }[];
let noted: string[];
let told: string[];
let throttled: Error | null;
let provider: FleetProvider;
const forever = new AbortController().signal;

beforeEach(() => {
  clock = createSimulatedClock();
  [calls, noted, told, throttled] = [[], [], [], null];
  provider = scriptedProvider({
    listMachines: ({ signal }) =>
      new Promise<Listing>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new ProviderError('aborted', 'aborted')));
        calls.push({ signal, answer: () => resolve(NOTHING), fail: reject });
      }),
  });
  listings = createListings({
    providers: new Map([[PROVIDER, provider]]),
    holds: {
      holds: () => new Map(),
      check: () => {
        if (throttled) throw throttled;
      },
      failed: async () => void noted.push('failed'),
      succeeded: async () => void noted.push('succeeded'),
    },
    health: {
      succeeded: async () => undefined,
      failed: async (_, error) => void told.push(explain(error)),
    },
    clock,
    nowMs: clock.now,
    maxAgeMs: 30_000,
  });
});
const list = (signal = forever) => listings.list(PROVIDER, signal);

describe('one listing at a time', () => {
  test('is joined by callers that come meanwhile', async () => {
    const both = Promise.all([list(), list()]);
    await settled();
    expect(calls).toHaveLength(1);
    calls[0]!.answer();
    const [one, two] = await both;
    expect(one).toBe(two);
    expect(noted).toEqual(['succeeded']);
  });

  test('goes on while any caller waits, and no longer', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const one = list(first.signal);
    const two = list(second.signal);
    await settled();
    first.abort();
    await expect(one).rejects.toMatchObject({ code: 'aborted' });
    expect(calls[0]!.signal.aborted).toBe(false);
    second.abort();
    await expect(two).rejects.toMatchObject({ code: 'aborted' });
    expect(calls[0]!.signal.aborted).toBe(true);
    const three = list();
    await settled();
    expect(calls).toHaveLength(2);
    calls[1]!.answer();
    await three;
  });

  test('fails for all callers, and the next call asks again', async () => {
    const both = Promise.allSettled([list(), list()]);
    await settled();
    calls[0]!.fail(new ProviderError('transient', 'down'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(noted).toEqual(['failed']);
    void list().catch(() => undefined);
    await settled();
    expect(calls).toHaveLength(2);
  });
});

describe('a recent listing', () => {
  const listed = async () => {
    const answer = list();
    await settled();
    calls.at(-1)!.answer();
    return answer;
  };

  test('answers for a time since its begin', async () => {
    const one = await listed();
    await advance(clock, 29_999);
    expect(await list()).toBe(one);
    expect(listings.recent(PROVIDER)).toBe(one);
    await advance(clock, 1);
    expect(listings.recent(PROVIDER)).toBeNull();
    expect(await listed()).not.toBe(one);
    expect(calls).toHaveLength(2);
  });

  test('shows its receivers what the provider showed', async () => {
    const shared = withListings(provider, listings);
    const one = await listed();
    expect(await shared.listMachines({ signal: forever })).toBe(one);
    expect(shared.capabilities).toBe(provider.capabilities);
  });
});

test('does not ask a throttled provider', async () => {
  throttled = new ProviderError('transient', 'throttled');
  await expect(list()).rejects.toBe(throttled);
  expect([calls, noted]).toEqual([[], []]);
});

test('refuses a provider that is not configured', async () => {
  await expect(listings.list('other' as typeof PROVIDER, forever)).rejects.toMatchObject({
    code: 'invalid',
  });
});

describe('the end of a listing', () => {
  test('A8: counts as failed when it took too long, although it ends as aborted', async () => {
    const one = list();
    await settled();
    const cause = new Error('List took over 900000 ms');
    calls[0]!.fail(new ProviderError('aborted', 'List was aborted', { cause }));
    await expect(one).rejects.toMatchObject({ code: 'transient' });
    expect(told).toEqual([expect.stringContaining('List took over 900000 ms')]);
  });

  test('A8: counts as nothing when nobody wants it any more', async () => {
    const leaving = new AbortController();
    const one = list(leaving.signal);
    await settled();
    leaving.abort();
    await expect(one).rejects.toMatchObject({ code: 'aborted' });
    await settled();
    expect(told).toEqual([]);
  });
});
