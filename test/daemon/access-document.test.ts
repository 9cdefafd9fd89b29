import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createOidc } from '../../src/adapters/identities/oidc.ts';
import { parseConfig } from '../../src/config.ts';
import { accessMeans } from '../../src/daemon/console-means.ts';
import { env, minimal } from '../config/examples.ts';
import { createBrowser } from '../console/access/browser.ts';
import { CLIENT, openIdentityProvider } from '../console/access/identity-provider.ts';
import { openStand } from '../console/access/stand.ts';
import { blocksOf } from '../support/document-blocks.ts';
import { issue } from '../support/certificates.ts';

const ORIGIN = 'https://shepherd.example.org';
const ISSUER = 'https://login.example.org';
const [documented] = blocksOf('docs/access.md').filter(({ text }) => text.includes('oidc:'));

/** The console as in the document, apart from its listen address and the provider's address. */
async function openDocumented() {
  const there = await openIdentityProvider(`${ORIGIN}/login/oidc/callback`);
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-access-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const authority = await issue({});
  const own = await issue({ name: 'CN=console', names: ['shepherd.example.org'], by: authority });
  const files = { 'console.pem': own.cert, 'console.key': own.key, 'oidc-secret': CLIENT.secret };
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(directory, name), text, { mode: 0o600 });
  expect(documented!.text).toContain(`issuer: ${ISSUER}`);
  const written = parse(documented!.text.replace(ISSUER, there.issuer)) as object;
  const config = parseConfig({ ...minimal(), ...written }, { env, baseDirectory: directory });
  const means = accessMeans(config, { createIdentities: createOidc, clock: systemClock });
  const { url } = await openStand({ ...means, listen: { host: '127.0.0.1', port: 0 } });
  expect(url).toMatch(/^https:/);
  return { there, browser: createBrowser({ [ORIGIN]: url.replace(/\/$/, '') }, authority.cert) };
}

test('V68: logs a person in with an organisation configured as documented', async () => {
  const { there, browser } = await openDocumented();
  there.accounts.set('b1', { email: 'bob@example.org', groups: ['rack-crew'] });
  there.next = 'b1';
  const before = await browser.visit(`${ORIGIN}/api/v1/whoami`);
  expect(before.status).toBe(401);
  expect(await browser.visit(`${ORIGIN}/login/oidc`)).toMatchObject({ status: 200 });
  const { body } = await browser.visit(`${ORIGIN}/api/v1/whoami`);
  expect(JSON.parse(body)).toMatchObject({
    ...{ name: 'oidc:bob@example.org', via: 'cookie', proven: true },
    ...{ role: 'operator', providers: ['equinix'] },
  });
});
