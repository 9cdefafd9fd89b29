import { expect, test } from 'vitest';
import {
  checkEquinixConfig,
  EQUINIX_DEFAULTS,
  type EquinixConfig,
} from '../../../../src/adapters/provider/equinix/settings.ts';
import { configFor } from './setup.ts';

const pathsOf = (change: Partial<EquinixConfig>) =>
  checkEquinixConfig({ ...configFor('https://api.example.net/metal/v1'), ...change }).map(
    ({ path }) => path,
  );

test('a whole configuration has no fault', () => {
  expect(pathsOf({})).toEqual([]);
});

test('the defaults hold placeholders, which are refused', () => {
  const { devicePrefix, sshKeyLabel } = EQUINIX_DEFAULTS;
  expect(pathsOf({ devicePrefix, sshKeyLabel })).toEqual(['sshKeyLabel', 'devicePrefix']);
});

test.each([
  ['username', { username: '' }],
  ['token', { token: () => '' }],
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
  ['instanceSetId', { instanceSetId: 'short' }],
  ['publicKeyLine', { publicKeyLine: '-----BEGIN OPENSSH PRIVATE KEY-----' }],
  ['baseUrl', { baseUrl: 'not a url' }],
  ['baseUrl', { baseUrl: 'ftp://api.example.net' }],
  ['baseUrl', { baseUrl: 'http://api.example.net/metal/v1' }],
  ['baseUrl', { baseUrl: 'https://user@api.example.net/' }],
  ['parallelism', { parallelism: 0 }],
  ['apiRateMs', { apiRateMs: -1 }],
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
