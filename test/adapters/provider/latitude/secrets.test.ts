import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import type { FleetCreateRequest, FleetProvider } from '../../../../src/adapters/provider/port.ts';
import { live, type Stand, startStand } from './stand.ts';

const SITE_SECRET = 'a-secret-line-of-the-site-4711';
const COMMENT = 'somebody@a-private-place';

/** What must be seen nowhere. */
async function secretsOf(stand: Stand): Promise<string[]> {
  const scripts = (await stand.api('GET', '/user_data')).flatMap(({ attributes }) => {
    const content = attributes['content']!;
    const text = Buffer.from(content, 'base64').toString();
    const script = /content: (\S+)/.exec(text)?.[1] ?? '';
    const plain = Buffer.from(script, 'base64').toString();
    return [content, script, /printf %s (\w+)/.exec(plain)?.[1] ?? ''];
  });
  return [stand.fake.token, SITE_SECRET, COMMENT, ...scripts].filter((text) => text !== '');
}

test.each<
  [string, (provider: FleetProvider, id: string, order: FleetCreateRequest) => Promise<unknown>]
>([
  [
    'PATCH /user_data/{id}',
    (provider, id) => provider.setTags(id, { 'shepherd-IdleBehavior': 'hold' }, live),
  ],
  ['POST /user_data', (provider, id) => provider.reinstallMachine(id, live)],
  ['POST /servers/{id}/reinstall', (provider, id) => provider.reinstallMachine(id, live)],
  ['DELETE /servers/{id}', (provider, id) => provider.deprovisionMachine(id, live)],
  ['POST /servers', (provider, _, order) => provider.createMachine(order, live)],
])(
  'vector 32: when %s fails with all of it in its answer, neither errors nor the log show a secret',
  async (line, act) => {
    const stand = await startStand();
    const provider = stand.fleet({ fleet: { initCommand: `echo ${SITE_SECRET}` } });
    const { id } = await stand.made(provider);
    const order = await stand.orderFor(provider, { slot: 2 });
    const secrets = await secretsOf(stand);
    expect(secrets.length).toBeGreaterThanOrEqual(6);
    // A reply that repeats all that was sent, and more.
    const sent = secrets.filter((secret) => secret !== COMMENT).join(' and ');
    const body = {
      errors: [{ code: 'INVALID', detail: `Bearer ${stand.fake.token} sent ${sent}` }],
    };
    const [method = '', route = ''] = line.split(' ');
    stand.fake.addFault({ match: { method, route }, effect: { type: 'status', code: 422, body } });
    const failed: unknown = await stand
      .run(act(provider, id!, order))
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Error);
    const shown = `${inspect(failed, { depth: 20 })} ${inspect(stand.log.lines, { depth: 20 })}`;
    for (const secret of secrets) expect(shown.includes(secret), secret).toBe(false);
    expect(stand.log.lines.length).toBeGreaterThan(5);
  },
);
