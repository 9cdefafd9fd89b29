import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import type { FleetProvider } from '../../../../src/adapters/provider/port.ts';
import type { FaultRule } from '../../../../emulators/latitude/api.ts';
import { live, nameOf, type Stand, startStand, witnessOf } from './stand.ts';

const SITE_SECRET = 'a-secret-line-of-the-site-4711';
const COMMENT = 'somebody@a-private-place';

/** What must be seen nowhere. */
async function secretsOf(stand: Stand): Promise<string[]> {
  const { data } = await stand.api('GET', '/user_data');
  const contents = (data as { attributes: { content: string } }[]).map(
    ({ attributes }) => attributes.content,
  );
  const scripts = contents.flatMap((content) => {
    const text = Buffer.from(content, 'base64').toString();
    const script = /content: (\S+)/.exec(text)?.[1] ?? '';
    const plain = Buffer.from(script, 'base64').toString();
    return [content, script, /printf %s (\w+)/.exec(plain)?.[1] ?? ''];
  });
  return [stand.fake.token, SITE_SECRET, COMMENT, ...scripts].filter((text) => text !== '');
}

/** A reply that repeats all that it was sent, and more. */
const quoting = (stand: Stand, secrets: readonly string[]): FaultRule['effect'] => ({
  type: 'status',
  code: 422,
  body: {
    errors: [
      { code: 'INVALID', detail: `Bearer ${stand.fake.token} sent ${secrets.join(' and ')}` },
    ],
  },
});

const failing: readonly (readonly [
  string,
  (provider: FleetProvider, stand: Stand, id: string) => Promise<unknown>,
])[] = [
  [
    'PATCH /user_data/{id}',
    (provider, _, id) => provider.setTags(id, { 'shepherd-IdleBehavior': 'hold' }, live),
  ],
  ['POST /user_data', (provider, _, id) => provider.reinstallMachine(id, live)],
  ['POST /servers/{id}/reinstall', (provider, _, id) => provider.reinstallMachine(id, live)],
  ['DELETE /servers/{id}', (provider, _, id) => provider.deprovisionMachine(id, live)],
  [
    'POST /servers',
    async (provider, stand) => {
      const unused = await stand.free(provider, 2);
      const order = { unused, hostname: nameOf(2), witness: witnessOf(2) };
      return stand.run(provider.createMachine(order, live));
    },
  ],
];

test.each(failing)(
  'vector 32: when %s fails with all of it in its answer, neither errors nor the log show a secret',
  async (line, act) => {
    const stand = await startStand();
    const provider = stand.fleet({ fleet: { initCommand: `echo ${SITE_SECRET}` } });
    const { id } = await stand.made(provider);
    const secrets = await secretsOf(stand);
    expect(secrets.length).toBeGreaterThanOrEqual(6);
    const [method = '', route = ''] = line.split(' ');
    const sent = secrets.filter((secret) => secret !== COMMENT);
    stand.fake.addFault({ match: { method, route }, effect: quoting(stand, sent) });
    const failed: unknown = await stand
      .run(act(provider, stand, id!))
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Error);
    const shown = `${inspect(failed, { depth: 20 })} ${inspect(stand.log.lines, { depth: 20 })}`;
    for (const secret of secrets) expect(shown.includes(secret), secret).toBe(false);
    expect(stand.log.lines.length).toBeGreaterThan(5);
  },
);
