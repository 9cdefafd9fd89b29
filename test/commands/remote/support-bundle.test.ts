import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTarGzip } from 'nanotar';
import { afterAll, describe, expect, test } from 'vitest';
import type { Question } from '../../../src/commands/remote/client.ts';
import { NoConsole } from '../../../src/commands/remote/failures.ts';
import { runThrough, scriptedTransport } from '../run-through.ts';
import { commandStand } from '../shown.ts';

const directory = mkdtempSync(join(tmpdir(), 'shepherd-bundle-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const CANARY = 'canary-7f3a';
const PEM = `-----BEGIN OPENSSH PRIVATE KEY-----\n${CANARY}\n-----END OPENSSH PRIVATE KEY-----`;
const CONFIG = `
# ${CANARY}
database: { url: 'postgresql://bmdb:${CANARY}@db:5432/bmdb' }
replica: { url: 'postgresql://db:5432/bmdb?sslmode=require&password=${CANARY}' }
providers:
  metal:
    driver: equinix
    token: ${CANARY}
    seedKey: ${CANARY}
    password: [${CANARY}]
    credentials: { user: ann, key: ${CANARY} }
    initCommand: |
      curl -H 'x: ${CANARY}'
webhooks:
  chat: { url: 'https://hooks.example/T0/${CANARY}', secrets: ['${CANARY}'] }
console: { token: 'file:/etc/shepherd/token', listen: '127.0.0.1:4242' }
`;

async function filesIn(file: string): Promise<ReadonlyMap<string, string>> {
  const items = await parseTarGzip(readFileSync(file));
  return new Map(items.map(({ name, text }) => [name.slice(name.indexOf('/') + 1), text]));
}

describe('support-bundle', () => {
  test('writes an archive with the state of a fleet and the configuration, without secrets', async () => {
    const config = join(directory, 'shepherd.yaml');
    writeFileSync(config, CONFIG);
    const stand = await commandStand();
    try {
      const file = join(directory, 'first.tar.gz');
      const { code, stdout, stderr } = await stand.run([
        ...['support-bundle', '-o', file, '--config', config],
      ]);
      expect([code, stderr]).toEqual([0, expect.stringContaining('look through it')]);
      expect(stdout).toMatch(/^\S+first\.tar\.gz: \d+ files\n/);
      const files = await filesIn(file);
      expect([...files.keys()]).toEqual(
        expect.arrayContaining([
          ...['manifest.json', 'version.json', 'fleet.json', 'machines.ndjson', 'providers.ndjson'],
          ...['explanations.ndjson', 'pools.json', 'daemons.json', 'requests.json', 'events.json'],
          ...['metrics.txt', 'plan.json', 'guard.json', 'config.yaml'],
        ]),
      );
      const manifest = JSON.parse(files.get('manifest.json')!);
      expect(manifest.files).toHaveLength(files.size - 1);
      for (const [name, text] of files) expect(text, name).not.toContain(CANARY);
      const shown = files.get('config.yaml')!;
      for (const kept of ['driver: equinix', 'url: https://hooks.example/[path]', 'file:/etc']) {
        expect(shown).toContain(kept);
      }
      expect(shown).toContain('postgresql://bmdb:[secret]@db:5432/bmdb');
      expect(statSync(file).mode & 0o777).toBe(0o600);
      // An archive that is there already stays as it is.
      expect(await stand.run(['support-bundle', '-o', file])).toMatchObject({ code: 2 });
    } finally {
      await stand.close();
    }
  });

  test('names what it could not read, and takes secrets out of what it read', async () => {
    const told = `GET https://ann:${CANARY}@api.example/: Bearer ${CANARY}, ${PEM}`;
    const signed = `https://${CANARY}@img.example/a?X-Amz-Signature=${CANARY}&X-Amz-Date=1`;
    const alive = { component: 'shepherd', endedAtMs: null, isSelf: true, consoleUrl: 'http://a/' };
    const answers: Readonly<Record<string, object>> = {
      version: { version: '9.9.9', told, signed },
      sessions: { sessions: [{ ...alive, runtimeInfo: 'a' }] },
      log: { daemon: { host: 'a', sessionId: 'a' }, newest: 1, records: [{ atMs: 1, told }] },
    };
    const where = `https://ann:${CANARY}@console.example/`;
    const answerTo = async ({ path }: Question) => {
      const answer = answers[path.replace('/api/v1/', '')];
      if (answer) return { status: 200, headers: {}, text: JSON.stringify(answer) };
      if (path === '/metrics') return { status: 200, headers: {}, text: `# ${told}` };
      throw new NoConsole('no console answers');
    };
    const transport = scriptedTransport(answerTo, { where });
    const file = join(directory, 'second.tar.gz');
    const means = { transport, monotonic: () => 0, sleep: async () => undefined };
    const { code, stdout } = await runThrough(means, ['support-bundle', '-o', file]);
    expect(code).toBe(0);
    expect(stdout).toContain('missing: fleet.json: no console answers');
    const files = await filesIn(file);
    for (const [name, text] of files) expect(text, name).not.toContain(CANARY);
    for (const name of ['version.json', 'logs.ndjson', 'metrics.txt']) {
      expect(files.get(name), name).toContain('https://ann:[secret]@api.example/: Bearer [secret]');
    }
    expect(JSON.parse(files.get('manifest.json')!).missing).toContainEqual({
      ...{ name: 'machines.ndjson', why: 'no console answers' },
    });
    expect(files.has('fleet.json')).toBe(false);
  });

  test('fails if no console answers, and still writes what it has', async () => {
    const transport = scriptedTransport(async () => {
      throw new NoConsole('no console answers');
    });
    const file = join(directory, 'empty.tar.gz');
    const means = { transport, monotonic: () => 0, sleep: async () => undefined };
    const { code, stdout } = await runThrough(means, ['support-bundle', '-o', file]);
    expect([code, stdout]).toEqual([1, expect.stringContaining('missing: version.json')]);
  });
});
