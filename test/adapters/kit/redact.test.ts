import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedact, secretsIn, shownUrl } from '../../../src/adapters/driver-kit/redaction.ts';
import { testRows } from '../../support/rows.ts';

test('whatever surrounds a secret, it does not stay', () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9+/=]{4,60}$/);
  fc.assert(
    fc.property(secret, secret, fc.string(), fc.string(), (token, line, before, after) => {
      const body = { userdata: `first line\n  ${line}  \n`, hostname: 'kept' };
      const redact = createRedact([token, ...secretsIn(body)]);
      const text = redact(`${before}${line}${after}${token}${before}`);
      const left = text.replaceAll('[redacted]', '\u0000');
      expect(left).not.toContain(token);
      expect(left).not.toContain(line);
    }),
  );
});

test('a secret that contains another goes whole', () => {
  expect(createRedact(['abcd', 'abcdefgh'])('x abcdefgh y')).toBe('x [redacted] y');
});

test('words that are no secrets stay', () => {
  const redact = createRedact(['tok', ...secretsIn({ hostname: 'name', customdata: { n: 5 } })]);
  expect(redact('hostname: name is taken, 5 tok')).toBe('hostname: name is taken, 5 tok');
});

test('what follows the name of a secret field goes', () => {
  const redact = createRedact([]);
  expect(redact('userdata: #!/bin/sh')).toBe('userdata [redacted]');
  expect(redact('a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b')).toBe(
    'a [redacted] b',
  );
});

test('addresses show paging and include only', () => {
  const query = { page: '2', per_page: '100', include: 'facility', tag: 'shepherd-x' };
  expect(shownUrl('/devices', query)).toBe('/devices?page=2&per_page=100&include=facility&tag=*');
  expect(shownUrl('/devices')).toBe('/devices');
});

const HEX = '3f9a0c51d27be8463f9a0c51d27be8463f9a0c51';
const SCRIPT = `#!/bin/sh\ncat > /etc/x <<END\n{"secret": "${HEX}", "path": "C:\\dir\\k3y"}\nEND\n`;
const BASE64 = Buffer.from(SCRIPT).toString('base64');

/** The longest piece of a secret that a text shows. */
function shown(text: string, secret: string): number {
  const pieces = Array.from({ length: secret.length }, (_, from) => {
    let length = 0;
    while (from + length < secret.length && text.includes(secret.slice(from, from + length + 1))) {
      length++;
    }
    return length;
  });
  return Math.max(...pieces);
}

testRows([
  ['a word of a line', `unexpected word "${HEX}"`, HEX],
  ['the beginning of a word', `unexpected ${HEX.slice(0, 20)}...`, HEX],
  ['the end of a word', `unexpected ...${HEX.slice(-20)}`, HEX],
  ['a line cut in its middle', `at: {"secret": "${HEX.slice(0, 11)}`, HEX],
  ['lines escaped as JSON', `got ${JSON.stringify(SCRIPT)}`, HEX],
  ['base64', `cannot read ${BASE64}`, BASE64],
  ['a piece of base64', `cannot read ${BASE64.slice(17, 60)}`, BASE64],
  ['a line as base64', `bad ${Buffer.from(`"${HEX}"`).toString('base64')}`, BASE64.slice(20)],
])('%s of what was sent does not stay', (_, said, secret) => {
  const redact = createRedact(secretsIn({ userdata: SCRIPT }));
  expect(shown(redact(said), secret)).toBeLessThan(8);
});

testRows(['tok-ABCDEF0123456789', 'onlylowercaseletters', 'only-lower-case-words'])(
  'a piece of the token %s does not stay',
  (token) => {
    const redact = createRedact([], [token]);
    expect(redact(`token ${token.slice(0, 10)}... has expired`)).toBe(
      'token [redacted]... has expired',
    );
    expect(shown(redact(`(${token})(${token.slice(5)})`), token)).toBeLessThan(8);
  },
);

test('ordinary words stay, though a script has them too', () => {
  const userdata = '# keep the instance and its reservation\nexport secret=1';
  const redact = createRedact(secretsIn({ userdata }));
  const said = 'maximum number of instances reached; reservation is not provisionable';
  expect(redact(said)).toBe(said);
});

testRows(['userdata', 'user_data', 'user data', 'root_password', 'Private Key'])(
  'what follows "%s" goes',
  (name) => expect(createRedact([])(`${name}: hunter2 and more`)).not.toContain('hunter2'),
);
