import { describe, expect, it } from 'vitest';
import { whereOf } from '../../../../src/adapters/bmdb/pg/errors.ts';
import { hostUrlsOf } from '../../../../src/adapters/bmdb/pg/host-urls.ts';
import { UsageError } from '../../../../src/domain/errors.ts';

// The forms come from libpq's documentation, "Connection URIs" and "Specifying Multiple Hosts".
describe('a database URL', () => {
  it.each([
    ['postgres://a:b@one,two/db', ['postgres://a:b@one/db', 'postgres://a:b@two/db'], 'any'],
    [
      'postgresql://a@one:123,two:456/db?target_session_attrs=read-write&application_name=x',
      [
        'postgresql://a@one:123/db?application_name=x',
        'postgresql://a@two:456/db?application_name=x',
      ],
      'read-write',
    ],
    [
      'postgres://a@[::1]:1,[2001:db8::2]/db?target_session_attrs=primary',
      ['postgres://a@[::1]:1/db', 'postgres://a@[2001:db8::2]/db'],
      'primary',
    ],
    [
      'postgres://a@/db?host=one,two&port=1,2',
      ['postgres://a@/db?host=one&port=1', 'postgres://a@/db?host=two&port=2'],
      'any',
    ],
    [
      'postgres://a@one,two/db?port=6432',
      ['postgres://a@one/db?port=6432', 'postgres://a@two/db?port=6432'],
      'any',
    ],
    ['postgres://one/db?target_session_attrs=read-write', ['postgres://one/db'], 'read-write'],
  ])('%s names one host after the other', (url, urls, session) => {
    expect(hostUrlsOf(url)).toEqual({ urls, session });
  });

  it.each([
    'postgres://a:b@one:5432/db?sslmode=verify-full&sslrootcert=/etc/ca.pem',
    'postgres:///db?host=/run/postgresql',
    'no URL at all',
  ])('%s keeps its one host', (url) => {
    expect(hostUrlsOf(url)).toEqual({ urls: [url], session: 'any' });
  });

  it.each([
    ['postgres://one,two/db?port=1,2,3', /2 hosts and 3 ports/],
    ['postgres://one,two/db?target_session_attrs=standby', /Shepherd writes; give any, read-write/],
    ['postgres://one/db?target_session_attrs=yes', /target_session_attrs=yes/],
  ])('%s is refused', (url, message) => {
    expect(() => hostUrlsOf(url)).toThrow(UsageError);
    expect(() => hostUrlsOf(url)).toThrow(message);
  });

  it('is shown with all hosts and without its password', () => {
    const url = 'postgres://a:secret@one:5433,two/db?target_session_attrs=read-write';
    expect(whereOf(url)).toBe('a@one:5433,two:5432/db');
  });
});
