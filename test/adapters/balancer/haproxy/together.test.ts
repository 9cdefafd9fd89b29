import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ask } from '../../../../emulators/haproxy/haproxy-process.ts';
import { hasHaproxyFor } from '../../../support/haproxy.ts';
import { backend, balancerOf, freePort, live, makePort, OTHER, OWNER, stand } from './stand.ts';

/** Each has its own memory, like two processes: two daemons, or a daemon and a command. */
describe.runIf(hasHaproxyFor('two processes at one HAProxy'))(
  'two processes at one HAProxy',
  () => {
    test("fail neither looks nor changes through each other's reloads", async () => {
      const { haproxy, balancer: one } = await stand();
      const other = balancerOf(haproxy);
      onTestFinished(() => other.close());
      const under = { isDone: false };
      const times = [0, 0, 0];
      const failures: unknown[] = [];
      const during = async (at: number, work: () => Promise<unknown>): Promise<void> => {
        while (!under.isDone) {
          await work().catch((error) => failures.push(error));
          times[at]! += 1;
        }
      };
      const beside = [
        during(0, () => other.observe(OTHER, live())),
        during(1, () => one.observe(OWNER, live())),
        // An operator's reloads, unknown to the drivers: frequent, and bounded.
        during(2, async () => {
          await ask(haproxy.masterSocket, 'reload');
          await sleep(500);
        }),
      ];
      const made: Promise<unknown>[] = [];
      // A fast machine changes more while the others catch up.
      do {
        const [port, machines] = [`p${made.length}`, []];
        made.push(
          makePort(one, port, { number: await freePort(), machines }),
          makePort(other, port, { number: await freePort(), machines, owner: OTHER }),
        );
        await Promise.allSettled(made);
      } while (Math.min(...times) < 3);
      under.isDone = true;
      await Promise.all(beside);
      await expect(Promise.all(made)).resolves.toHaveLength(made.length);
      expect(failures).toEqual([]);
      const there = [await one.observe(OWNER, live()), await other.observe(OTHER, live())].flat();
      expect(there.map(({ differs }) => differs)).toEqual(Array(3 * made.length).fill(undefined));
    });

    test('leave each other’s checks alone and remove leftovers of a dead process', async () => {
      const { haproxy, balancer: one } = await stand();
      const [theirs, old] = ['.candidate-theirs', '.candidate-old'];
      for (const name of [theirs, old]) {
        await mkdir(join(haproxy.poolsDir, name));
        await writeFile(join(haproxy.poolsDir, name, 'web.eu.cfg'), '# theirs\n');
      }
      const hourAgo = new Date(Date.now() - 3_600_000);
      await utimes(join(haproxy.poolsDir, old), hourAgo, hourAgo);
      await one.create(backend('http'), null, OWNER, live());
      expect((await readdir(haproxy.poolsDir)).toSorted()).toEqual([
        theirs,
        'api.eu.cfg',
        'api.eu.cfg.loaded',
      ]);
    });
  },
);
