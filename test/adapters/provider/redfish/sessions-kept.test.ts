import { expect, test } from 'vitest';
import {
  createLogin,
  type Plain,
} from '../../../../src/adapters/provider/redfish/client/session.ts';
import { errorOf } from '../../../../src/adapters/provider/redfish/client/errors.ts';
import { readReply } from '../../../../src/adapters/provider/redfish/client/replies.ts';
import { createSimulatedClock } from '../../../doubles/simulated-clock.ts';
import { failureOf, startRack } from './stand.ts';

const SESSIONS = '/redfish/v1/SessionService/Sessions';
const own = `${SESSIONS}/7`;
const login = () =>
  createLogin(
    { auth: 'auto', authPauseMs: 600_000, credentials: { username: 'a', password: () => 'b' } },
    createSimulatedClock(),
  );

/** A BMC that answers logins so. */
function answering(status: number, headers: Readonly<Record<string, string>>, body: object) {
  const sent: string[] = [];
  const plain: Plain = {
    sessionsPath: async () => SESSIONS,
    async send(method, path) {
      sent.push(`${method} ${path}`);
      const text = JSON.stringify(body);
      const reply = readReply({ status, headers, text }, path, (told) => told);
      if (status < 300) return reply;
      throw errorOf(reply, { doing: 'login', changing: true, nowMs: 0 });
    },
  };
  return { plain, sent };
}

test.each([
  [{ location: `https://ilo.rack.example${own}` }, {}],
  [{ location: own }, {}],
  [{}, { '@odata.id': own }],
  [{ location: 'https://elsewhere.example/else' }, { '@odata.id': own }],
])('a session is ended at its own BMC, however that names it: %j %j', async (headers, body) => {
  const { plain, sent } = answering(201, { ...headers, 'x-auth-token': 'token' }, body);
  const one = login();
  await one.show(plain);
  await one.end(plain);
  expect(sent).toEqual([`POST ${SESSIONS}`, `DELETE ${own}`]);
});

test('a wrong password that a BMC answers with 400 is not tried again before the pause is over', async () => {
  const info = { MessageId: 'iLO.2.14.UnauthorizedLoginAttempt' };
  const { plain, sent } = answering(400, {}, { error: { '@Message.ExtendedInfo': [info] } });
  const one = login();
  await failureOf(one.show(plain));
  expect(await failureOf(one.show(plain))).toMatchObject({ kind: 'auth' });
  expect(sent).toHaveLength(1);
});

test('a login whose caller leaves leaves no session that nobody ends', async () => {
  const rack = await startRack({ settings: { powerPoll: '2h' } });
  const route = SESSIONS;
  await rack.fault({ type: 'latency', ms: 1_000 }, { match: { method: 'POST', route } });
  const leaving = new AbortController();
  rack.clock.setTimeout(() => leaving.abort(new Error('left')), 500);
  const how = rack.call({ signal: leaving.signal });
  expect(await failureOf(rack.power('on', how))).toMatchObject({ kind: 'aborted' });
  await rack.after(5_000);
  await rack.power('on');
  await rack.inTime(rack.provider.stop());
  expect(rack.fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });
});
