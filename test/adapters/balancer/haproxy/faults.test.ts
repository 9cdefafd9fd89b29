import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { explain, FleetError } from '../../../../src/domain/errors.ts';
import type { LoadBalancer } from '../../../../src/adapters/balancer/port.ts';
import { ask, type Haproxy } from '../../../../emulators/haproxy/haproxy-process.ts';
import { callOnce } from '../../../../emulators/haproxy/traffic/call.ts';
import { hasHaproxyFor, startTestHaproxy } from '../../../support/haproxy.ts';
import {
  backend,
  balancerOf,
  bind,
  find,
  freePort,
  frontend,
  hurried,
  live,
  makePort,
  OTHER,
  OWNER,
  server,
  startMachine,
} from './stand.ts';

const read = (file: string) => readFile(file, 'utf8');
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'no error',
    (error: unknown) => (error instanceof FleetError ? error.code : String(error)),
  );

describe.runIf(hasHaproxyFor('faults around HAProxy'))('faults around HAProxy', () => {
  async function stand() {
    const haproxy = await startTestHaproxy();
    const balancer = balancerOf(haproxy);
    onTestFinished(() => balancer.close());
    return { haproxy, balancer, file: join(haproxy.poolsDir, 'api.eu.cfg') };
  }
  async function serving() {
    const made = await stand();
    const machine = await startMachine('m1');
    onTestFinished(() => machine.stop());
    const number = await freePort();
    const refs = await makePort(made.balancer, 'http', { number, machines: [machine] });
    await made.balancer.setMember!(refs.servers[0]!, 'active', OWNER, live());
    return { ...made, ...refs, machine, number, to: { host: '127.0.0.1', port: number } };
  }
  const occupy = async (): Promise<number> => {
    const blocker: Server = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise<void>((resolve) => blocker.close(() => resolve())));
    return (blocker.address() as { port: number }).port;
  };
  const differing = async (balancer: LoadBalancer) =>
    (await balancer.observe(OWNER, live()))
      .filter(({ differs }) => differs !== undefined)
      .map(({ ref, differs }) => `${ref.kind} ${ref.id}: ${differs}`);
  const runTime = async (haproxy: Haproxy, command: string) => {
    const [, worker] =
      /^# workers\n(\d+)/m.exec(await ask(haproxy.masterSocket, 'show proc')) ?? [];
    return ask(haproxy.masterSocket, `@!${worker} ${command}`);
  };

  test.each([
    ['has no mark', '# mine\n', 'was not made by Shepherd'],
    ['has the mark of another', '# shepherd-pool other-uid\n', 'is the file of another pool'],
  ])('a file that %s is left alone', async (_, text, message) => {
    const { balancer, file } = await stand();
    await writeFile(file, text);
    expect(await balancer.observe(OWNER, live())).toEqual([]);
    await expect(balancer.create(backend('http'), null, OWNER, live())).rejects.toThrow(message);
    await balancer.destroy({ kind: 'backend', id: 'http.api.eu' }, OWNER, live());
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  test('vector 23: what cannot be loaded is not put in place, and HAProxy says why', async () => {
    const { balancer, haproxy, file, to, backend: above } = await serving();
    const before = await readFile(file, 'utf8');
    await writeFile(
      haproxy.baseFile,
      `${await readFile(haproxy.baseFile, 'utf8')}\nbackend x.api.eu\n  nonsense\n`,
    );
    const call = balancer.create(frontend('x'), above, OWNER, live());
    const said = await call.catch(explain);
    expect(said).toMatch(/^HAProxy refuses it: .*unknown keyword 'nonsense'/);
    expect(String(said).match(/nonsense/g)).toHaveLength(1);
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await readdir(haproxy.poolsDir)).toEqual(['api.eu.cfg', 'api.eu.cfg.loaded']);
    expect(await callOnce(to)).toBeNull();
    expect(await ask(haproxy.masterSocket, 'show proc')).toMatch(/master\s+3 \[failed: 0\]/);
  });

  test('vector 23: a name that the operator has is refused before anything is written', async () => {
    const { balancer, haproxy } = await stand();
    const own = 'backend http.api.eu\n  mode tcp\n';
    await writeFile(haproxy.baseFile, `${await readFile(haproxy.baseFile, 'utf8')}\n${own}`);
    const call = balancer.create(backend('http'), null, OWNER, live());
    await expect(call).rejects.toThrow(/HAProxy refuses it: .*http\.api\.eu/);
    expect(await readdir(haproxy.poolsDir)).toEqual([]);
  });

  test('vector 23: after a reload that failed the file is what it was, and the old worker serves', async () => {
    const { balancer, haproxy, file, servers, to } = await serving();
    const taken = await occupy();
    const before = await readFile(file, 'utf8');
    // It is in order, and cannot be had: only a reload finds that out.
    await writeFile(
      haproxy.baseFile,
      `${await readFile(haproxy.baseFile, 'utf8')}\nfrontend own\n  mode tcp\n  timeout client 1s\n  bind 127.0.0.1:${taken}\n`,
    );
    const call = balancer.create(backend('second'), null, OWNER, live());
    await expect(call).rejects.toThrow('HAProxy could not load it, and goes on as before');
    expect(await codeOf(call)).toBe('remote-failure');
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await callOnce(to)).toBeNull();
    expect(await differing(balancer)).toEqual([]);
    // Servers need no reload, and go on.
    await balancer.setMember!(servers[0]!, 'drain', OWNER, live());
    expect(find(await balancer.observe(OWNER, live()), servers[0]!)?.server?.mode).toBe('drain');
  });

  test('a port that somebody else has is refused before anything is loaded', async () => {
    const { balancer, haproxy, frontend: front, to } = await serving();
    const taken = await occupy();
    const desired = bind('other', taken);
    const call = balancer.create(desired, front, OWNER, live());
    await expect(call).rejects.toThrow(`HAProxy cannot listen at 127.0.0.1 port ${taken}`);
    expect(await ask(haproxy.masterSocket, 'show proc')).toMatch(/master\s+3 \[failed: 0\]/);
    expect(await callOnce(to)).toBeNull();
  });

  test("one pool's mistake is not another's", async () => {
    const { balancer } = await stand();
    const taken = await occupy();
    const front = await balancer
      .create(backend('http'), null, OWNER, live())
      .then((above) => balancer.create(frontend('http'), above, OWNER, live()));
    const [bad, good] = await Promise.allSettled([
      balancer.create(bind('http', taken), front, OWNER, live()),
      balancer.create(backend('web', OTHER), null, OTHER, live()),
    ]);
    expect([bad.status, good.status]).toEqual(['rejected', 'fulfilled']);
    expect(await balancer.observe(OTHER, live())).toHaveLength(1);
    expect(await balancer.observe(OWNER, live())).toHaveLength(2);
  });

  test('vector 24: a server that was removed by hand is shown, and put back by an update', async () => {
    const { balancer, haproxy, backend: above, servers, machine, to } = await serving();
    const [ref] = servers;
    await runTime(haproxy, `set server ${ref!.id} state maint`);
    expect(await runTime(haproxy, `del server ${ref!.id}`)).toBe('Server deleted.\n');
    expect(await differing(balancer)).toEqual([
      `server ${ref!.id}: the running program does not have it`,
    ]);
    await balancer.update!(ref!, server('http', machine), above, OWNER, live());
    expect(await differing(balancer)).toEqual([]);
    expect(find(await balancer.observe(OWNER, live()), ref!)?.server?.mode).toBe('active');
    expect(await callOnce(to)).toBeNull();
  });

  test('a server that was added by hand is shown, and can be taken away', async () => {
    const { balancer, haproxy, machine } = await serving();
    await runTime(haproxy, `add server http.api.eu/extra 127.0.0.1:${machine.port}`);
    expect(await differing(balancer)).toEqual([
      'server http.api.eu/extra: its file does not have it',
    ]);
    const ref = { kind: 'server', id: 'http.api.eu/extra' } as const;
    await balancer.destroy(ref, OWNER, live());
    expect(await differing(balancer)).toEqual([]);
    expect(await runTime(haproxy, 'show servers state')).not.toContain('extra');
  });

  test('an address that was changed by hand is shown, and put right', async () => {
    const { balancer, haproxy, backend: above, servers, machine, to } = await serving();
    await runTime(haproxy, `set server ${servers[0]!.id} addr 127.0.0.2 port 9`);
    expect(await differing(balancer)).toEqual([
      `server ${servers[0]!.id}: the running program has it at 127.0.0.2 port 9`,
    ]);
    await balancer.update!(servers[0]!, server('http', machine), above, OWNER, live());
    expect(await differing(balancer)).toEqual([]);
    expect(await callOnce(to)).toBeNull();
  });

  test('where file and program disagree on a mode, the stricter one wins', async () => {
    const { balancer, haproxy, backend: above, servers, machine } = await serving();
    await runTime(haproxy, `set server ${servers[0]!.id} state drain`);
    expect(await differing(balancer)).toEqual([
      `server ${servers[0]!.id}: the running program has it drain, and its file active`,
    ]);
    await balancer.update!(servers[0]!, server('http', machine), above, OWNER, live());
    const [seen] = [find(await balancer.observe(OWNER, live()), servers[0]!)];
    expect(seen).toMatchObject({ server: { mode: 'drain' } });
    expect(seen?.differs).toBeUndefined();
  });

  test.each([
    ['changed', (file: string, text: string) => writeFile(file, `${text}  maxconn 1\n`)],
    ['taken away', (file: string) => rm(file)],
  ])('a file that was %s by hand is written anew', async (_, change) => {
    const { balancer, file, backend: above, to } = await serving();
    const before = await readFile(file, 'utf8');
    await change(file, before);
    expect(await differing(balancer)).toEqual([
      'backend http.api.eu: its file was changed or taken away',
    ]);
    await balancer.update!(above, backend('http'), null, OWNER, live());
    expect(await readFile(file, 'utf8')).toBe(before);
    expect(await callOnce(to)).toBeNull();
  });

  test('without the directory nothing is written, and what to do is told', async () => {
    const { balancer, file, servers, to } = await serving();
    await rename(dirname(file), `${dirname(file)}.away`);
    const call = balancer.setMember!(servers[0]!, 'drain', OWNER, live());
    await expect(call).rejects.toThrow(`${dirname(file)} is not there: make it`);
    expect(find(await balancer.observe(OWNER, live()), servers[0]!)?.server?.mode).toBe('active');
    await rename(`${dirname(file)}.away`, dirname(file));
    expect(await differing(balancer)).toEqual([]);
    expect(await callOnce(to)).toBeNull();
  });

  test('where the mark is gone nobody says that nothing is there while HAProxy serves it', async () => {
    const { balancer, file } = await serving();
    const text = await read(file);
    await rm(`${file}.loaded`);
    await writeFile(file, text.replace('uid-1', 'uid-9'));
    await expect(balancer.observe(OWNER, live())).rejects.toMatchObject({
      code: 'remote-failure',
      message: `${file} is the file of another pool ("# shepherd-pool uid-9"); it is left alone`,
    });
  });

  test('a pool whose files are lost can be taken away', async () => {
    const { balancer, file, haproxy, backend: above, frontend: front, servers } = await serving();
    await Promise.all([rm(file), rm(`${file}.loaded`)]);
    const bound = { kind: 'bind', id: `${front.id}/v4.http.api.eu` } as const;
    for (const ref of [bound, ...servers, front]) await balancer.destroy(ref, OWNER, live());
    await Promise.all([rm(file), rm(`${file}.loaded`)]);
    await balancer.destroy(above, OWNER, live());
    expect(await balancer.observe(OWNER, live())).toEqual([]);
    expect(await readdir(haproxy.poolsDir)).toEqual([]);
  });

  test('what a crash left between the file and its reload is shown, and loaded', async () => {
    const { balancer, file, haproxy } = await serving();
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(/\nfrontend[^]*$/, '\n'));
    expect(await differing(balancer)).toContain(
      'frontend http.api.eu: it was taken out of the file, and the running program has it',
    );
    const [ref] = (await balancer.observe(OWNER, live())).filter(
      ({ ref: { kind } }) => kind === 'bind',
    );
    await balancer.destroy(ref!.ref, OWNER, live());
    expect(await balancer.observe(OWNER, live())).toHaveLength(2);
    expect(await runTime(haproxy, 'show stat')).not.toContain('FRONTEND');
  });

  test('while HAProxy does not run nothing is written, and the socket is named', async () => {
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
    // It may be that it is just loaded anew.
    ending.abort();
    expect(await look).toBe('cancelled');
    expect(await readdir(haproxy.poolsDir)).toEqual([]);
    await haproxy.start();
    await patient.create(backend('http'), null, OWNER, live());
  });

  test('a socket of something else, and one that breaks off, are told from HAProxy', async () => {
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

  test('directories and programs that are not there are named', async () => {
    const { haproxy } = await stand();
    const nowhere = balancerOf(haproxy, { poolsDir: join(haproxy.dir, 'nowhere') });
    onTestFinished(() => nowhere.close());
    const call = nowhere.create(backend('http'), null, OWNER, live());
    await expect(call).rejects.toThrow('nowhere is not there: make it');
    const without = balancerOf(haproxy, { program: '/nonexistent/haproxy' });
    onTestFinished(() => without.close());
    const other = without.create(backend('http'), null, OWNER, live());
    await expect(other).rejects.toThrow('/nonexistent/haproxy cannot be started');
  });

  test.each([
    ['a name', { ...backend('http').spec, name: 'x\n  bind :1' }],
    ['a name for a socket', { ...backend('http').spec, name: 'x; show env' }],
    ['a path', { ...backend('http').spec, check: { by: 'http', path: '/ HTTP/1.0\\r\\nX:' } }],
    ['a path with a comment', { ...backend('http').spec, check: { by: 'http', path: '/#' } }],
  ] as const)('nothing but %s passes for one', async (_, spec) => {
    const { balancer, haproxy } = await stand();
    const call = balancer.create({ port: 'http', spec }, null, OWNER, live());
    expect(await codeOf(call)).toBe('remote-failure');
    expect(await readdir(haproxy.poolsDir)).toEqual([]);
  });

  test.each(['localhost', '127.0.0.1 backup', 'fe80::1%lo', '010.0.0.1', '/tmp/socket'])(
    'a server at %j is refused',
    async (address) => {
      const { balancer } = await stand();
      const above = await balancer.create(backend('http'), null, OWNER, live());
      const spec = { kind: 'server', name: 'm1.http.api.eu', address, number: 80 } as const;
      expect(await codeOf(balancer.create({ port: 'http', spec }, above, OWNER, live()))).toBe(
        'remote-failure',
      );
      expect(await balancer.observe(OWNER, live())).toHaveLength(1);
    },
  );
});
