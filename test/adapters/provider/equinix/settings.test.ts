import { expect, test } from 'vitest';
import {
  EQUINIX_DEFAULTS,
  equinixSchema,
} from '../../../../src/adapters/provider/equinix/settings.ts';
import { PROJECT_ID, TOKEN } from './setup.ts';

const schema = equinixSchema({ env: { TOKEN }, baseDirectory: '/', checkFiles: false });
const WHOLE = {
  baseUrl: 'https://api.example.net/metal/v1',
  token: '${TOKEN}',
  username: 'tester',
  projectId: PROJECT_ID,
  devicePrefix: 'shepherd-ci-',
  sshKeyLabel: 'shepherd-ci',
};
/** The keys at fault. */
const pathsOf = (change: object) => {
  const { error } = schema.safeParse({ ...WHOLE, ...change });
  return [...new Set(error?.issues.map(({ path }) => path.join('.')) ?? [])];
};

test('a whole configuration has no fault', () => {
  expect(pathsOf({})).toEqual([]);
});

test('what counts where nothing is said is what the schema says', () => {
  const { apiRate, os, pageSize } = schema.parse(WHOLE);
  expect(EQUINIX_DEFAULTS).toMatchObject({ apiRateMs: apiRate, os, pageSize });
});

test.each([
  ['username', { username: '' }],
  ['token', { token: '${NOT_THERE}' }],
  ['projectId', { projectId: '' }],
  ['projectId', { projectId: 'my-project' }],
  ['sshKeyLabel', { sshKeyLabel: '' }],
  ['sshKeyLabel', { sshKeyLabel: 'x-fixme' }],
  ['devicePrefix', { devicePrefix: '' }],
  ['devicePrefix', { devicePrefix: 'FIXME-x-' }],
  ['devicePrefix', { devicePrefix: 'no-hyphen-at-end' }],
  ['devicePrefix', { devicePrefix: 'under_score-' }],
  ['devicePrefix', { devicePrefix: 'Upper-' }],
  ['devicePrefix', { devicePrefix: 'deleted-x-' }],
  ['devicePrefix', { devicePrefix: `${'a'.repeat(45)}-` }],
  ['baseUrl', { baseUrl: 'not a url' }],
  ['baseUrl', { baseUrl: 'ftp://api.example.net' }],
  ['baseUrl', { baseUrl: 'http://api.example.net/metal/v1' }],
  ['baseUrl', { baseUrl: 'https://user@api.example.net/' }],
  ['parallelism', { parallelism: 0 }],
  ['apiRate', { apiRate: '-1s' }],
  ['pageSize', { pageSize: 1001 }],
])('vector 33: %s is at fault in %j', (path, change) => {
  expect(pathsOf(change)).toEqual([path]);
});

test('plain http is for loopback, or where it is allowed', () => {
  const faults = (baseUrl: string, allowInsecureHttp = false) =>
    pathsOf({ baseUrl, allowInsecureHttp });
  for (const host of ['127.0.0.1:81', 'localhost', '[::1]:8080']) {
    expect(faults(`http://${host}/metal/v1`)).toEqual([]);
  }
  expect(faults('http://127.0.0.1.example.net/')).toEqual(['baseUrl']);
  expect(faults('http://api.example.net/', true)).toEqual([]);
});

test('the longest prefix still makes a hostname', () => {
  expect(pathsOf({ devicePrefix: `${'a'.repeat(44)}-` })).toEqual([]);
});

test('every fault is reported at once', () => {
  expect(pathsOf({ username: '', projectId: 'x', parallelism: 0 })).toHaveLength(3);
});
