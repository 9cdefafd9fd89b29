import { appendFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { explain, FleetError } from '../../../../src/domain/errors.ts';
import type { Spec } from '../../../../src/domain/balancing/objects.ts';
import { ask } from '../../../../emulators/haproxy/haproxy-process.ts';
import { callOnce } from '../../../../emulators/haproxy/traffic/call.ts';
import { hasHaproxyFor } from '../../../support/haproxy.ts';
import { testRows } from '../../../support/rows.ts';
import {
  backend,
  balancerOf,
  differing,
  find,
  hurried,
  live,
  occupy,
  OWNER,
  server,
  serving,
  stand,
  tellWorker,
} from './stand.ts';

const read = (file: string) => readFile(file, 'utf8');
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no error',
    (error: unknown) => (error instanceof FleetError ? error.code : String(error)),
  );

describe.runIf(hasHaproxyFor('faults around HAProxy'))('faults around HAProxy', () => {
  testRows([
    ['has no mark', '# mine\n', 'was not written by Shepherd'],
    ['has the mark of another', '# shepherd-pool other-uid\n', 'belongs to another pool'],
  ])('leave a file alone that %s', async (_, text, message) => {
    const { balancer, file } = await stand();
    await writeFile(file, text);
    expect(await balancer.observe(OWNER, live())).toEqual([]);
    await expect(balancer.create(backend('http'), null, OWNER, live())).rejects.toThrow(message);
    await balancer.destroy({ kind: 'backend', id: 'http.api.eu' }, OWNER, live());
    expect(await read(file)).toBe(text);
  });

  testRows([
    ['backend x.api.eu\n  nonsense\n', /^HAProxy refuses it: .*unknown keyword 'nonsense'/],
    ['backend second.api.eu\n  mode tcp\n', /^HAProxy refuses it: .*second\.api\.eu/],
  ])('vector 23: put nothing in place beside the operator’s %j', async (own, refusal) => {
    const { balancer, haproxy, file, to } = await serving();
    const before = await read(file);
    await appendFile(haproxy.baseFile, `\n${own}`);
    const said = await balancer.create(backend('second'), null, OWNER, live()).catch(explain);
    expect(said).toMatch(refusal);
    expect(String(said).match(/HAProxy refuses/g)).toHaveLength(1);
    expect(await read(file)).toBe(before);
    expect(await readdir(haproxy.poolsDir)).toEqual(['api.eu.cfg', 'api.eu.cfg.loaded']);
    expect(await callOnce(to)).toBeNull();
    expect(await ask(haproxy.masterSocket, 'show proc')).toMatch(/master\s+3 \[failed: 0\]/);
  });

  test('vector 23: restore the file after a failed reload, and the old worker serves', async () => {
    const { balancer, haproxy, file, servers, to } = await serving();
    const taken = await occupy();
    const before = await read(file);
    // The configuration is valid but cannot be applied. Only a reload shows that.
    const own = `frontend own\n  mode tcp\n  timeout client 1s\n  bind 127.0.0.1:${taken}\n`;
    await appendFile(haproxy.baseFile, `\n${own}`);
    const call = balancer.create(backend('second'), null, OWNER, live());
    await expect(call).rejects.toThrow(
      'HAProxy could not load the change, and continues as before',
    );
    expect(await codeOf(call)).toBe('remote-failure');
    expect(await read(file)).toBe(before);
    expect(await callOnce(to)).toBeNull();
    expect(await differing(balancer)).toEqual([]);
    // Servers need no reload and continue.
    await balancer.setMember!(servers[0]!, 'drain', OWNER, live());
    expect(find(await balancer.observe(OWNER, live()), servers[0]!)?.server?.mode).toBe('drain');
  });

  test('vector 24: show what a person changed and correct it by an update', async () => {
    const { balancer, haproxy, file, backend: above, servers, machines, to } = await serving();
    const [ref] = servers;
    const id = ref!.id;
    const before = await read(file);
    const remove = async () => {
      await tellWorker(haproxy, `set server ${id} state maint`);
      expect(await tellWorker(haproxy, `del server ${id}`)).toBe('Server deleted.\n');
    };
    const anew = 'backend http.api.eu: its file was changed or deleted';
    const hands: readonly (readonly [by: () => Promise<unknown>, differs: string])[] = [
      [remove, `server ${id}: the running program lacks it`],
      [
        () => tellWorker(haproxy, `set server ${id} addr 127.0.0.2 port 9`),
        `server ${id}: the running program has it at 127.0.0.2 port 9`,
      ],
      [() => appendFile(file, '  maxconn 1\n'), anew],
      [() => rm(file), anew],
    ];
    const update = async () => {
      await balancer.update!(above, backend('http'), null, OWNER, live());
      await balancer.update!(ref!, server('http', machines[0]!), above, OWNER, live());
      expect(await differing(balancer)).toEqual([]);
    };
    for (const [change, differs] of hands) {
      await change();
      expect(await differing(balancer)).toEqual([differs]);
      await update();
      expect(await read(file)).toBe(before);
      expect(find(await balancer.observe(OWNER, live()), ref!)?.server?.mode).toBe('active');
      expect(await callOnce(to)).toBeNull();
    }
    await tellWorker(haproxy, `set server ${id} state drain`);
    expect(await differing(balancer)).toEqual([
      `server ${id}: the running program has it drain, and its file active`,
    ]);
    await update();
    const seen = find(await balancer.observe(OWNER, live()), ref!);
    expect(seen?.server?.mode, 'the stricter one wins').toBe('drain');
  });

  test('write nothing without the directory and say what to do', async () => {
    const { balancer, file, servers, to } = await serving();
    await rename(dirname(file), `${dirname(file)}.away`);
    const call = balancer.setMember!(servers[0]!, 'drain', OWNER, live());
    await expect(call).rejects.toThrow(`${dirname(file)} does not exist; create it`);
    expect(find(await balancer.observe(OWNER, live()), servers[0]!)?.server?.mode).toBe('active');
    await rename(`${dirname(file)}.away`, dirname(file));
    expect(await differing(balancer)).toEqual([]);
    expect(await callOnce(to)).toBeNull();
  });

  test('do not report an empty pool while HAProxy serves it without its mark', async () => {
    const { balancer, file } = await serving();
    const text = await read(file);
    await rm(`${file}.loaded`);
    await writeFile(file, text.replace('uid-1', 'uid-9'));
    await expect(balancer.observe(OWNER, live())).rejects.toMatchObject({
      code: 'remote-failure',
      message: `${file} belongs to another pool ("# shepherd-pool uid-9") and is left alone`,
    });
  });

  test('let a pool be removed whose files are lost', async () => {
    const { balancer, file, haproxy, backend: above, frontend: front, servers } = await serving();
    await Promise.all([rm(file), rm(`${file}.loaded`)]);
    const bound = { kind: 'bind', id: `${front.id}/v4.http.api.eu` } as const;
    for (const ref of [bound, ...servers, front]) await balancer.destroy(ref, OWNER, live());
    await Promise.all([rm(file), rm(`${file}.loaded`)]);
    await balancer.destroy(above, OWNER, live());
    expect(await balancer.observe(OWNER, live())).toEqual([]);
    expect(await readdir(haproxy.poolsDir)).toEqual([]);
  });

  test('write nothing while HAProxy is down and name the socket', async () => {
    const { balancer: patient, haproxy } = await stand();
    const balancer = balancerOf(haproxy, { clock: hurried });
    onTestFinished(() => balancer.close());
    await haproxy.halt();
    const ending = new AbortController();
    const look = codeOf(patient.observe(OWNER, { signal: ending.signal }));
    const call = balancer.create(backend('http'), null, OWNER, live());
    await expect(call).rejects.toThrow(`no HAProxy listens at ${haproxy.masterSocket}`);
    expect(await codeOf(call)).toBe('unreachable');
    expect(await codeOf(balancer.observe(OWNER, live()))).toBe('unreachable');
    // HAProxy may be reloading at this moment.
    ending.abort();
    expect(await look).toBe('cancelled');
    expect(await readdir(haproxy.poolsDir)).toEqual([]);
    await haproxy.start();
    await patient.create(backend('http'), null, OWNER, live());
  });

  test('distinguish a foreign socket and a broken one from HAProxy', async () => {
    const { haproxy } = await stand();
    const answers = ['HTTP/1.1 400 Bad Request\r\n\r\n', '', '# workers\n'];
    const codes: string[] = [];
    for (const [at, answer] of answers.entries()) {
      const path = join(haproxy.dir, `odd-${at}.sock`);
      const odd = createServer((socket) => void socket.resume().end(answer));
      await new Promise<void>((resolve) => odd.listen(path, resolve));
      const balancer = balancerOf(haproxy, { masterSocket: path, clock: hurried });
      codes.push(await codeOf(balancer.observe(OWNER, live())));
      await balancer.close();
      await new Promise((resolve) => odd.close(resolve));
    }
    expect(codes).toEqual(['malformed', 'unreachable', 'malformed']);
  });

  test('name a missing program', async () => {
    const { balancer } = await stand({ program: '/nonexistent/haproxy' });
    const call = balancer.create(backend('http'), null, OWNER, live());
    await expect(call).rejects.toThrow('/nonexistent/haproxy cannot be started');
  });

  test('reject invalid names, paths and addresses', async () => {
    const { balancer } = await stand();
    const above = await balancer.create(backend('http'), null, OWNER, live());
    const { spec } = backend('second');
    const at = (address: string) =>
      ({ kind: 'server', name: 'm1.http.api.eu', address, number: 80 }) as const;
    const specs: readonly Spec[] = [
      { ...spec, name: 'x\n  bind :1' },
      { ...spec, name: 'x; show env' },
      { ...spec, kind: 'backend', check: { by: 'http', path: '/ HTTP/1.0\\r\\nX:' } },
      { ...spec, kind: 'backend', check: { by: 'http', path: '/#' } },
      ...['localhost', '127.0.0.1 backup', 'fe80::1%lo', '010.0.0.1', '/tmp/socket'].map(at),
    ];
    for (const each of specs) {
      const parent = each.kind === 'server' ? above : null;
      const call = balancer.create({ port: 'http', spec: each }, parent, OWNER, live());
      expect([each, await codeOf(call)]).toEqual([each, 'remote-failure']);
    }
    expect(await balancer.observe(OWNER, live())).toHaveLength(1);
  });
});
