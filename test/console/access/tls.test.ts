import { expect, test } from 'vitest';
import { openStand } from './stand.ts';

test.each([
  ['without a way to log in', {}, 'set a token for the console'],
  ['without TLS', { token: 'a'.repeat(32) }, 'would send tokens unencrypted'],
])('V35: beyond loopback %s it is refused with a message', async (_, deps, words) => {
  const opening = openStand({ listen: { host: '0.0.0.0', port: 0 }, ...deps });
  await expect(opening).rejects.toThrow(words);
});

test('V33: behind a proxy that ends TLS, sends cookies and headers as for TLS', async () => {
  const stand = await openStand({ token: 'of-the-console', isProxied: true });
  const cookie = await stand.logIn({ token: 'of-the-console' });
  expect(cookie).toMatch(/^__Host-shepherd=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  for (const path of ['livez', 'login', 'api/v1/whoami', 'nothing', 'metrics']) {
    const { headers } = await stand.ask(path);
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
    expect(headers['content-security-policy']).not.toContain('unsafe-');
  }
});

test('behind a proxy admits nobody without a login, though the proxy is on this host', async () => {
  const stand = await openStand({ isProxied: true });
  expect((await stand.ask('api/v1/whoami')).status).toBe(401);
});
