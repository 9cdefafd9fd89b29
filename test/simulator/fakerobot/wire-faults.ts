import { createConnection } from 'node:net';
import { once } from 'node:events';
import { expect } from 'vitest';
import { CUT, isPending, type NumberedProof, rename, nameOf } from './fault-steps.ts';
import { codeOf, SERVER } from './harness.ts';

const LIST = '/server';

/** What each fault of connections, logins and limits does, and that it is over with its rule. */
export const WIRE_FAULTS: readonly NumberedProof[] = [
  [
    1,
    'latency',
    async (robot) => {
      await robot.fault({ type: 'latency', ms: 500 }, { times: 1 });
      const asked = robot.ask('GET', LIST);
      expect(await isPending(asked, robot, 499)).toBe(true);
      await robot.fake.advance(1);
      expect((await asked).status).toBe(200);
    },
  ],
  [
    2,
    'the handshake hangs',
    async (robot) => {
      const { id } = await robot.fault({ type: 'handshakeHang' });
      const { hostname, port } = new URL(robot.fake.url);
      const socket = createConnection(Number(port), hostname);
      await once(socket, 'connect');
      socket.write('GET /server HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
      await robot.fake.advance(60_000);
      expect(robot.fake.requests()).toEqual([]);
      await robot.fake.removeFault(id);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(/^HTTP\/1.1 401 /);
      socket.destroy();
    },
  ],
  [
    3,
    'reply lost after execution',
    async (robot) => {
      await robot.fault({ type: 'drop', phase: 'after' }, { match: { method: 'POST' }, times: 1 });
      await expect(rename(robot)).rejects.toThrow(CUT);
      expect(await nameOf(robot)).toBe('shep-a');
    },
  ],
  [
    4,
    '5xx before and after execution',
    async (robot) => {
      await robot.fault({ type: 'status', code: 500 }, { times: 1 });
      expect(codeOf(await rename(robot))).toEqual([500, 'INTERNAL_ERROR']);
      expect(await nameOf(robot)).toBe('free-321');
      const late = { match: { method: 'POST' }, times: 1 };
      await robot.fault({ type: 'status', code: 502, executed: true }, late);
      expect((await rename(robot)).status).toBe(502);
      expect(await nameOf(robot)).toBe('shep-a');
    },
  ],
  [
    5,
    '403 without a body',
    async (robot) => {
      await robot.fault({ type: 'status', code: 403, body: null }, { times: 1 });
      const reply = await robot.ask('GET', LIST);
      expect([reply.status, reply.text]).toEqual([403, '']);
      expect((await robot.ask('GET', LIST)).status).toBe(200);
    },
  ],
  [
    6,
    'maintenance for some minutes',
    async (robot) => {
      await robot.fault({ type: 'maintenance', minutes: 5 });
      expect((await robot.ask('GET', LIST)).status).toBe(503);
      await robot.fake.advance(5 * 60_000 - 1);
      expect((await rename(robot)).status).toBe(503);
      await robot.fake.advance(1);
      expect((await robot.ask('GET', LIST)).status).toBe(200);
      expect(await nameOf(robot)).toBe('free-321');
    },
  ],
  [
    7,
    'a right login is refused, and counts as a wrong one',
    async (robot) => {
      await robot.fault({ type: 'loginRefused' }, { times: 3 });
      for (let n = 0; n < 3; n++) {
        expect(codeOf(await robot.ask('GET', LIST))).toEqual([401, 'UNAUTHORIZED']);
      }
      const isRefused = () => robot.ask('GET', LIST).then(() => false, isRefusal);
      await expect.poll(isRefused).toBe(true);
      await robot.fake.advance(10 * 60_000);
      await expect.poll(isRefused).toBe(false);
    },
  ],
  [
    8,
    'the address is blocked',
    async (robot) => {
      const { id } = await robot.fault({ type: 'addressBlocked' });
      await expect(robot.ask('GET', LIST)).rejects.toThrow(/ECONNREFUSED/);
      await robot.fake.removeFault(id);
      expect((await robot.ask('GET', LIST)).status).toBe(200);
    },
  ],
  [
    9,
    'body cut or HTML',
    async (robot) => {
      await robot.fault({ type: 'garbage', kind: 'truncated' }, { times: 1 });
      const cut = await robot.ask('GET', LIST);
      expect([cut.status, cut.body]).toEqual([200, undefined]);
      await robot.fault({ type: 'garbage', kind: 'html' }, { times: 1 });
      expect((await robot.ask('GET', LIST)).text).toMatch(/^<!DOCTYPE html>/);
      expect((await robot.ask('GET', LIST)).body).toHaveLength(1);
    },
  ],
  [
    10,
    'a rename is ignored, cut, or comes late',
    async (robot) => {
      await robot.fault({ type: 'rename', does: 'ignored' }, { times: 1 });
      const shown = (await rename(robot)).body as { server: { server_name: string } };
      expect(shown.server.server_name).toBe('free-321');
      expect(await nameOf(robot)).toBe('free-321');
      await robot.fault({ type: 'rename', does: 'cut', length: 4 }, { times: 1 });
      await rename(robot);
      expect(await nameOf(robot)).toBe('shep');
      await robot.fault({ type: 'rename', does: 'late', ms: 1_000 }, { times: 1 });
      await rename(robot, 'shep-b');
      expect(await nameOf(robot)).toBe('shep');
      await robot.fake.advance(1_000);
      expect(await nameOf(robot)).toBe('shep-b');
    },
  ],
  [
    21,
    'a server vanishes from the list, or from the account',
    async (robot) => {
      const { id } = await robot.fault({ type: 'serverGone', from: 'list' });
      expect(codeOf(await robot.ask('GET', LIST))).toEqual([404, 'SERVER_NOT_FOUND']);
      expect((await robot.ask('GET', `/server/${SERVER}`)).status).toBe(200);
      await robot.fake.removeFault(id);
      await robot.fault({ type: 'serverGone', from: 'account' }, { match: { server: SERVER } });
      for (const path of [LIST, `/server/${SERVER}`, `/reset/${SERVER}`, `/boot/${SERVER}`]) {
        expect(codeOf(await robot.ask('GET', path))).toEqual([404, 'SERVER_NOT_FOUND']);
      }
      await robot.fake.clearFaults();
      expect((await robot.ask('GET', LIST)).body).toHaveLength(1);
    },
  ],
  [
    22,
    'another set grabs the name',
    async (robot) => {
      await robot.fault({ type: 'nameTaken', name: 'other-a' });
      const shown = (await rename(robot)).body as { server: { server_name: string } };
      expect(shown.server.server_name).toBe('shep-a');
      expect(await nameOf(robot)).toBe('other-a');
      await rename(robot, 'shep-b');
      expect(await nameOf(robot)).toBe('shep-b');
    },
  ],
  [
    23,
    'status: in process',
    async (robot) => {
      await robot.fault({ type: 'inProcess' }, { match: { server: SERVER }, times: 1 });
      expect(await robot.get(LIST)).toMatchObject([{ server: { status: 'in process' } }]);
      expect(await robot.get(LIST)).toMatchObject([{ server: { status: 'ready' } }]);
    },
  ],
  [
    24,
    'fields of the list are null',
    async (robot) => {
      const fields = ['server_ip', 'ip', 'subnet'];
      await robot.fault({ type: 'nullFields', fields }, { times: 1 });
      expect(await robot.get(LIST)).toMatchObject([
        { server: { server_ip: null, ip: null, subnet: null, server_number: SERVER } },
      ]);
      expect(await robot.get(LIST)).not.toMatchObject([{ server: { server_ip: null } }]);
    },
  ],
  [
    26,
    'an odd operating status',
    async (robot) => {
      const shown = async () =>
        ((await robot.get(`/reset/${SERVER}`)) as { reset: { operating_status: string } }).reset
          .operating_status;
      await robot.fault({ type: 'operatingStatus', shows: 'perhaps' }, { times: 1 });
      expect([await shown(), await shown()]).toEqual(['perhaps', 'running']);
    },
  ],
  [
    27,
    'the limit is counted for the user, over all paths',
    async (robot) => {
      await robot.fault({ type: 'limitPerUser', max: 2 });
      expect((await robot.ask('GET', LIST)).status).toBe(200);
      expect((await robot.ask('GET', `/reset/${SERVER}`)).status).toBe(200);
      expect(codeOf(await rename(robot))).toEqual([403, 'RATE_LIMIT_EXCEEDED']);
      await robot.fake.clearFaults();
      expect((await rename(robot)).status).toBe(200);
    },
  ],
];

const isRefusal = (error: unknown) => (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
