import { describe, expect, it } from 'vitest';
import { careless, FAULT_MIX } from './chaos.ts';
import { start } from './harness.ts';

const ENOUGH_REQUESTS = 1_500;
const isCreate = ({ method, route }: { method: string; route: string }) =>
  method === 'POST' && route === '/projects/{id}/devices';

describe('two careless daemons, two hundred reservations, and everything that can go wrong', () => {
  it('leave a consistent world, in which the journal accounts for every device', async () => {
    const fake = await start({ clock: 'real', profile: 'fast', reservations: 200, seed: 11 });
    for (const rule of FAULT_MIX) fake.addFault(rule);
    const starting = new Set<string>();
    const ended = new Set<string>();
    fake.events.on('change', ({ kind, id, from, to }) => {
      if (kind === 'device' && from === null) starting.add(id);
      if (kind === 'device' && to === 'deleted') ended.add(id);
    });
    const stop = new AbortController();
    const daemons = ['left', 'right'].map((name) => careless(fake, name, stop.signal));
    const broken: string[] = [];
    const executed = () => fake.requests().filter((one) => isCreate(one) && one.executed);
    await expect
      .poll(
        () => {
          broken.push(...fake.violations());
          return {
            isEnough: fake.requests().length > ENOUGH_REQUESTS,
            idle: fake.faults().filter((one) => one.applied === 0),
            withoutAnswer: executed().some((one) => one.status === null),
            failed: executed().some((one) => one.status === 500),
          };
        },
        { timeout: 600_000 },
      )
      .toEqual({ isEnough: true, idle: [], withoutAnswer: true, failed: true });
    stop.abort();
    await Promise.all(daemons);

    expect(broken).toEqual([]);
    expect(fake.violations()).toEqual([]);
    const strangers = fake
      .requests()
      .flatMap((one) => one.faults)
      .filter(isRace).length;
    expect(starting.size).toBe(executed().length + strangers);
    expect(fake.devices()).toHaveLength(starting.size - ended.size);

    function isRace(id: string): boolean {
      return fake.faults().find((one) => one.id === id)!.effect.type === 'race';
    }
  });
});
