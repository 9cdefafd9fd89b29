import { expect, it } from 'vitest';
import {
  isConnectionLoss,
  isReadOnly,
  translate,
  whereOf,
} from '../../../../src/adapters/bmdb/pg/errors.ts';
import { codeOf, explain, isRetryable } from '../../../../src/domain/errors.ts';

const errorOf = (code: string, text = 'what the server said') =>
  Object.assign(new Error(text), code === '' ? {} : { code });

// Retryable: the same call may succeed later. Lost: a COMMIT in progress has an unknown outcome.
it.each([
  ['57P03', 'unreachable', 'retryable', 'lost', /starting or stopping; wait/],
  ['57P01', 'unreachable', 'retryable', 'lost', /ended the connection/],
  ['57P02', 'unreachable', 'retryable', 'lost', /ended the connection/],
  ['53300', 'unreachable', 'retryable', 'lost', /no connection left.*poolMax.*max_connections/],
  ['08006', 'unreachable', 'retryable', 'lost', /^could not test \(here\)/],
  ['40003', 'unreachable', 'retryable', 'lost', /^could not test \(here\)/],
  ['25P03', 'unreachable', 'retryable', 'lost', /^could not test \(here\)/],
  ['ECONNREFUSED', 'unreachable', 'retryable', 'lost', /does not answer; check that it runs/],
  ['ENOTFOUND', 'unreachable', 'retryable', 'lost', /does not answer/],
  ['25006', 'unreachable', 'retryable', 'kept', /read-only; give the primary/],
  ['53100', 'unreachable', 'retryable', 'kept', /disk of the server is full/],
  ['53200', 'unreachable', 'retryable', 'kept', /out of memory or at a limit/],
  ['57014', 'timed-out', 'retryable', 'kept', /^could not test \(here\): what/],
  ['55P03', 'timed-out', 'retryable', 'kept', /^could not test \(here\): what/],
  ['40001', 'retry-exhausted', 'retryable', 'kept', /^could not test/],
  ['28P01', 'denied', 'final', 'kept', /refused the role or its password/],
  ['28000', 'denied', 'final', 'kept', /refused the role or its password/],
  ['42501', 'denied', 'final', 'kept', /lacks a right; run "shepherd db migrate --grant-to/],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'denied', 'final', 'kept', /certificate.*not trusted/],
  ['3D000', 'not-found', 'final', 'kept', /no such database/],
  ['42P01', 'schema-mismatch', 'final', 'kept', /run "shepherd db migrate"/],
  ['42703', 'schema-mismatch', 'final', 'kept', /run "shepherd db migrate"/],
  ['XX001', 'remote-failure', 'final', 'kept', /an internal error; read its log/],
  ['58030', 'remote-failure', 'final', 'kept', /an internal error; read its log/],
])('maps %s to %s, %s, connection %s', (code, kind, again, connection, says) => {
  const error = translate(errorOf(code), 'test', 'here');
  expect(codeOf(error)).toBe(kind);
  expect(isRetryable(error)).toBe(again === 'retryable');
  expect(isConnectionLoss(errorOf(code))).toBe(connection === 'lost');
  expect(explain(error)).toMatch(says);
  expect(explain(error)).toMatch(/: what the server said$/);
  expect(isReadOnly(errorOf(code))).toBe(code === '25006');
});

it.each([
  ['Connection terminated unexpectedly', 'unreachable'],
  ['timeout exceeded when trying to connect', 'unreachable'],
  ['Query read timeout', 'unreachable'],
  ['cannot use serializable mode in a hot standby', 'unreachable'],
  ['The server does not support SSL connections', 'denied'],
  ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'denied'],
])('maps "%s" to %s', (text, kind) => {
  expect(codeOf(translate(errorOf('', text), 'test'))).toBe(kind);
});

it('passes unknown errors on', () => {
  for (const error of [errorOf('23505'), errorOf('XX000'), new Error('mine'), 'text']) {
    expect(translate(error, 'test')).toBe(error);
  }
});

it.each([
  ['postgres://a:s%3Acret@db:5433/bmdb', 'a@db:5433/bmdb'],
  ['postgres://a:secret@db', 'a@db:5432/a'],
  ['postgres://db/bmdb?password=secret&user=b', 'b@db:5432/bmdb'],
  ['postgres:///bmdb?host=/run/secret-free&password=secret', '/run/secret-free:5432/bmdb'],
  ['postgres://a%40x:secret@[::1]:1/n', 'a@x@[::1]:1/n'],
  ['no URL with a secret', ''],
])('shows %s as %s', (url, shown) => {
  expect(whereOf(url)).toBe(shown);
});
