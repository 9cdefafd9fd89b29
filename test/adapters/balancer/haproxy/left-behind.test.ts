import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, render } from '../../../../src/adapters/balancer/haproxy/pool-file.ts';
import { callOnce } from '../../../../emulators/haproxy/traffic/call.ts';
import { hasHaproxyFor } from '../../../support/haproxy.ts';
import { PATIENCE } from '../../../support/patience.ts';
import {
  backend,
  balancerOf,
  bind,
  differing,
  freePort,
  live,
  makePort,
  OTHER,
  OWNER,
  serving,
  tellWorker,
} from './stand.ts';

/** Leftovers of an ended daemon, or of a manual edit, that the next daemon finds. */
describe.runIf(hasHaproxyFor('what others left behind'))('leftovers of others at HAProxy', () => {
  test('include no own listener', async () => {
    const { balancer, haproxy, servers, number, file, frontend: front } = await serving();
    const other = await freePort();
    const web = await makePort(balancer, 'web', { number: other, machines: [], owner: OTHER });
    const loaded = [`${file}.loaded`, join(haproxy.poolsDir, 'web.eu.cfg.loaded')];
    // As if the daemon ended before it could record the loaded configuration, which was then
    // removed.
    const text = await readFile(file, 'utf8');
    await writeFile(loaded[0]!, text.replace(/^ {2}bind .*\n/m, ''));
    await balancer.setMember!(servers[0]!, 'drain', OWNER, live());
    expect(await differing(balancer)).toEqual([]);
    await Promise.all(loaded.map((path) => rm(path)));
    await Promise.all([
      balancer.update!(
        { kind: 'bind', id: `${front.id}/v4.http.api.eu` },
        ...([bind('http', other), front, OWNER, live()] as const),
      ),
      balancer.update!(
        { kind: 'bind', id: `${web.frontend.id}/v4.web.web.eu` },
        ...([bind('web', number, OTHER), web.frontend, OTHER, live()] as const),
      ),
    ]);
    expect(await differing(balancer)).toEqual([]);
    expect(await readFile(file, 'utf8')).toContain(`bind 127.0.0.1:${other} `);
  });

  test('do not make a driver forget its loaded state when it closes during a reload', async () => {
    const { haproxy, balancer, file, frontend: front } = await serving();
    const closed = balancerOf(haproxy);
    const number = await freePort();
    const made = closed.create(bind('second', number), front, OWNER, live());
    const text = () => readFile(file, 'utf8');
    await expect.poll(text, { ...PATIENCE, interval: 1 }).toContain(`127.0.0.1:${number} `);
    await Promise.all([made, closed.close()]);
    expect(await readFile(`${file}.loaded`, 'utf8')).toBe(await text());
    expect(await differing(balancer)).toEqual([]);
  });

  test('written by a person are left out or corrected when they cannot be rewritten', async () => {
    const { balancer, file, servers, to, backend: above } = await serving();
    const good = await readFile(file, 'utf8');
    const anew = 'backend http.api.eu: its file was changed or deleted';
    const edits: readonly (readonly [string | RegExp, string])[] = [
      [/^ {2}default_backend .*\n/m, ''],
      [/^ {2}default_backend .*$/m, '  default_backend "http.api.eu"'],
      ['option tcp-check', 'option httpchk OPTIONS *'],
      [/(?= {2}server )/, '  server x.http.api.eu 127.0.0.1:0 check port 80\n'],
      [/(?= {2}server )/, '  server x.http.api.eu#1 127.0.0.1:80 check\n'],
      [/ name v4\S+$/m, '$&#1'],
      [/$/, `backend ${'b'.repeat(201)}\nfrontend ${'f'.repeat(201)}\nfrontend empty\n`],
    ];
    for (const [found, written] of edits) {
      const edited = good.replace(found, written);
      expect(edited).not.toBe(good);
      await writeFile(file, edited);
      expect(await differing(balancer)).toContain(anew);
      await balancer.update!(above, backend('http'), null, OWNER, live());
      expect(await readFile(file, 'utf8')).toBe(good);
      expect(await differing(balancer)).toEqual([]);
    }
    await writeFile(file, good.replace(/(?= {2}server )/, '  server _canary 127.0.0.1:9 check\n'));
    const canary = { kind: 'server', id: 'http.api.eu/_canary' } as const;
    expect(await differing(balancer)).toEqual([
      anew,
      `server ${canary.id}: the running program lacks it`,
    ]);
    await balancer.setMember!(servers[0]!, 'drain', OWNER, live());
    await balancer.setMember!(servers[0]!, 'active', OWNER, live());
    await balancer.destroy(canary, OWNER, live());
    expect(await readFile(file, 'utf8')).toBe(good);
    expect(await callOnce(to)).toBeNull();
  });

  test('make only their own pool’s changes fail when it cannot be read or written', async () => {
    const { balancer, haproxy, file, servers } = await serving();
    await tellWorker(haproxy, 'add server http.api.eu/odd 127.0.0.1:0');
    const odd = { kind: 'server', id: 'http.api.eu/odd' } as const;
    const together = async (port: string) => {
      const results = await Promise.allSettled([
        balancer.setMember!(odd, 'drain', OWNER, live()),
        balancer.create(backend(port, OTHER), null, OTHER, live()),
        balancer.setMember!(servers[0]!, 'active', OWNER, live()),
      ]);
      return results.map((each) => (each.status === 'rejected' ? String(each.reason) : 'done'));
    };
    const unwritable = expect.stringContaining('"127.0.0.1" 0 is no valid address and port');
    expect(await together('one')).toEqual([unwritable, 'done', 'done']);
    await rm(`${file}.loaded`);
    await writeFile(file, '# mine\n');
    const strange = expect.stringContaining('was not written by Shepherd');
    expect(await together('two')).toEqual([strange, 'done', strange]);
  });
});

test('give a frontend the backend of its port, or leave it out', () => {
  const text = 'backend a\nfrontend a\nfrontend b\nfrontend c\n  default_backend a\n';
  const frontends = [...parse(text).values()].filter(({ ref }) => ref.kind === 'frontend');
  expect(frontends.map(({ ref, parentId }) => [ref.id, parentId])).toEqual([
    ['a', 'a'],
    ['c', 'a'],
  ]);
  expect(render(parse(text), OWNER, { idleMs: 1 })).toContain('  default_backend a\n');
});
