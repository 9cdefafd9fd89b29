import { expect, test } from 'vitest';
import { StepFailed, NotInTime, pending, until, within } from '../../src/conformance/waiting.ts';
import { argvOf } from '../../src/conformance/steps/contact.ts';
import { ProviderError, TimedOut } from '../../src/domain/errors.ts';
import { advance, createSimulatedClock, type VirtualClock } from '../doubles/simulated-clock.ts';

const live = new AbortController().signal;

/** Runs to its end in virtual time; returns the result and the times of its looks, in ms. */
async function waitFor(
  clock: VirtualClock,
  look: (count: number) => Promise<number | ReturnType<typeof pending>>,
  limits: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
) {
  const looks: number[] = [];
  const startMs = clock.monotonic();
  const { timeoutMs = 60_000, signal = live } = limits;
  const end = until('it', { clock, signal, timeoutMs, intervalMs: 1_000 }, () => {
    looks.push(clock.monotonic() - startMs);
    return look(looks.length);
  }).then(
    (value) => ({ value, error: null }),
    (error: unknown) => ({ value: null, error }),
  );
  await advance(clock, timeoutMs + 5_000);
  expect(clock.pending).toBe(0);
  return { ...(await end), looks };
}

test('looks more and more slowly, up to the interval', async () => {
  const clock = createSimulatedClock();
  const { value, looks } = await waitFor(clock, async (count) =>
    count < 9 ? pending('not yet') : count,
  );
  expect(value).toBe(9);
  const gaps = looks.slice(1).map((at, index) => Math.round(at - looks[index]!));
  expect(gaps).toEqual([100, 150, 225, 338, 507, 760, 1000, 1000]);
});

test('ends a vain wait in time, and names what was seen last', async () => {
  const clock = createSimulatedClock();
  const { error, looks } = await waitFor(clock, async (count) => pending(`look ${count}`), {
    timeoutMs: 2_000,
  });
  expect(error).toBeInstanceOf(NotInTime);
  expect(error).toBeInstanceOf(StepFailed);
  expect((error as Error).message).toBe(`it: timed out after 2s; last state: look ${looks.length}`);
  expect(looks.at(-1)).toBeLessThanOrEqual(2_000);
});

test('looks once even without time', async () => {
  const clock = createSimulatedClock();
  const found = await waitFor(clock, async () => 7, { timeoutMs: 0 });
  expect(found).toMatchObject({ value: 7, looks: [0] });
});

test('counts a temporary failure as a look without result, and ends at another failure', async () => {
  const clock = createSimulatedClock();
  const passing = new ProviderError('transient', 'busy');
  const found = await waitFor(clock, async (count) => {
    if (count < 3) throw passing;
    return count;
  });
  expect(found.value).toBe(3);
  const final = new ProviderError('invalid', 'no');
  const { error, looks } = await waitFor(clock, () => Promise.reject(final));
  expect({ error, looks: looks.length }).toEqual({ error: final, looks: 1 });
});

test('obeys a rate limit, wherever it is in the chain of causes', async () => {
  const clock = createSimulatedClock();
  const { looks } = await waitFor(clock, async (count) => {
    if (count > 1) return count;
    const retryAt = new Date(clock.now() + 20_000);
    const cause = new ProviderError('transient', 'slow down', { rateLimit: { retryAt } });
    throw new Error('listing failed', { cause });
  });
  expect(looks).toEqual([0, 20_000]);
});

test('ends at a rate limit beyond the deadline', async () => {
  const clock = createSimulatedClock();
  const retryAt = new Date(clock.now() + 3_600_000);
  const error = new ProviderError('transient', 'slow down', { rateLimit: { retryAt } });
  const { error: seen, looks } = await waitFor(clock, () => Promise.reject(error));
  expect(seen).toBeInstanceOf(NotInTime);
  expect(looks).toEqual([0]);
});

test('ends at a signal', async () => {
  const clock = createSimulatedClock();
  const controller = new AbortController();
  const reason = new Error('enough');
  clock.setTimeout(() => controller.abort(reason), 500);
  const { error } = await waitFor(clock, async () => pending('not yet'), {
    signal: controller.signal,
  });
  expect((error as Error).message).toBe('it: not yet; last state: not yet');
});

test('keeps earlier observations when the signal ends a look', async () => {
  const clock = createSimulatedClock();
  const controller = new AbortController();
  const { error } = await waitFor(
    clock,
    async (count) => {
      if (count < 3) return pending(`no address, look ${count}`);
      controller.abort();
      throw new ProviderError('aborted', 'This operation was aborted');
    },
    { signal: controller.signal },
  );
  expect((error as Error).message).toBe('it: not yet; last state: no address, look 2');
});

test('gives the reason when cancelled before the first observation', async () => {
  const reason = new Error('enough');
  const { error } = await waitFor(createSimulatedClock(), () => Promise.reject(reason), {
    signal: AbortSignal.abort(reason),
  });
  expect(error).toBe(reason);
});

test('aborts the work at a limit, and does not wait for work that ignores it', async () => {
  const clock = createSimulatedClock();
  let seen: AbortSignal | undefined;
  const work = within('a call', { clock, timeoutMs: 1_500, signal: live }, (signal) => {
    seen = signal;
    return new Promise<never>(() => undefined);
  });
  const ended = expect(work).rejects.toEqual(new TimedOut('a call did not end within 2s'));
  await advance(clock, 1_500);
  await ended;
  expect(seen!.aborted).toBe(true);
  expect(clock.pending).toBe(0);
});

test.each([
  ['hostname', ['hostname']],
  ['systemctl is-system-running --wait', ['systemctl', 'is-system-running', '--wait']],
  [' /usr/bin/true  ', ['/usr/bin/true']],
  [`grep 'a b' /etc/hosts`, ['sh', '-c', `grep 'a b' /etc/hosts`]],
  ['uptime && id', ['sh', '-c', 'uptime && id']],
  ['ls /etc/*.conf', ['sh', '-c', 'ls /etc/*.conf']],
  ['echo $HOME', ['sh', '-c', 'echo $HOME']],
  ['echo "$(id)"', ['sh', '-c', 'echo "$(id)"']],
  ['echo `id`', ['sh', '-c', 'echo `id`']],
  ['cat < /etc/hosts', ['sh', '-c', 'cat < /etc/hosts']],
  ['A=1 env', ['sh', '-c', 'A=1 env']],
  ['~/probe', ['sh', '-c', '~/probe']],
  ['true # all is well', ['sh', '-c', 'true # all is well']],
  ['  ', ['sh', '-c', '  ']],
])('the command %j is run as %j', (text, argv) => {
  expect(argvOf(text)).toEqual(argv);
});
