import { X509Certificate, createPrivateKey } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';

const YEAR_MS = 365 * 24 * 3600_000;

describe('development certificates', () => {
  let scratch: string;
  let dir: string;
  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'shepherd-tls-'));
    dir = join(scratch, 'tls');
  });
  afterEach(() => rmSync(scratch, { recursive: true }));

  test('chain the server certificate to the authority, with all names', async () => {
    const { key, cert, caDer } = await createDevCertificates({
      names: ['shepherd.lan', '10.0.0.7'],
    });
    const ca = new X509Certificate(caDer);
    const certificate = new X509Certificate(cert);
    expect(ca.ca).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.verify(ca.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.checkHost('localhost')).toBe('localhost');
    expect(certificate.checkHost('shepherd.lan')).toBe('shepherd.lan');
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(certificate.checkIP('10.0.0.7')).toBe('10.0.0.7');
  });

  test('B6: are not used when another user may have put them there', async () => {
    const mine = process.geteuid!();
    await createDevCertificates({ dir, names: [] });
    vi.spyOn(process, 'geteuid').mockReturnValue(mine + 1000);
    const isRoot = mine === 0;
    if (isRoot) chownSync(dir, 65_534, 65_534);
    await expect(createDevCertificates({ dir, names: [] })).rejects.toThrow(
      'belongs to another user',
    );
    vi.restoreAllMocks();
    if (isRoot) chownSync(dir, 0, 0);
    chmodSync(dir, 0o770);
    await expect(createDevCertificates({ dir, names: [] })).rejects.toThrow(
      'other users may write to',
    );
    const empty = join(scratch, 'empty');
    mkdirSync(empty);
    chmodSync(empty, 0o777);
    await createDevCertificates({ dir: empty, names: [] });
    expect(statSync(empty).mode & 0o777).toBe(0o700);
  });

  test('are kept for the owner alone and used again', async () => {
    const first = await createDevCertificates({ dir, names: ['a.lan'] });
    expect(await createDevCertificates({ dir, names: ['a.lan'] })).toEqual(first);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    const modes = readdirSync(dir).map((name) => statSync(join(dir, name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600]);
  });

  test('renew the server certificate, not the authority, for a new name or near expiry', async () => {
    const first = await createDevCertificates({ dir, names: [] });
    const named = await createDevCertificates({ dir, names: ['b.lan'] });
    expect(named.caDer).toEqual(first.caDer);
    expect(new X509Certificate(named.cert).checkHost('b.lan')).toBe('b.lan');
    const later = await createDevCertificates({ dir, names: [], nowMs: Date.now() + 11 * YEAR_MS });
    expect(later.caDer).not.toEqual(first.caDer);
  });

  test('are made again when damaged', async () => {
    const first = await createDevCertificates({ dir, names: [] });
    const path = join(dir, 'agent-ca.pem');
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, 100));
    const second = await createDevCertificates({ dir, names: [] });
    expect(second.caDer).not.toEqual(first.caDer);
    const authority = new X509Certificate(second.caDer);
    expect(new X509Certificate(second.cert).verify(authority.publicKey)).toBe(true);
  });

  test('agree when two processes make them', async () => {
    const both = await Promise.all([1, 2].map(() => createDevCertificates({ dir, names: [] })));
    expect(both[0]).toEqual(both[1]);
    expect(readdirSync(dir).toSorted()).toEqual(['agent-ca.pem', 'agent-server.pem']);
  });
});
