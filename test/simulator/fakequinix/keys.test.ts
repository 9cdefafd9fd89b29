import { describe, expect, it } from 'vitest';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { clientOf, createDevice, KEY, OTHER_KEY, start } from './harness.ts';

describe('SSH keys', () => {
  it('are made in a project, with null for no instances', async () => {
    const fake = await start();
    const path = `/projects/${fake.projectId}/ssh-keys`;
    const made = await clientOf(fake)('POST', path, {
      label: 'fleet',
      key: `${KEY}\n`,
      instances_ids: null,
    });
    expect(made.status).toBe(201);
    const owner = { href: `/projects/${fake.projectId}` };
    expect(made.body).toMatchObject({
      label: 'fleet',
      key: `${KEY}\n`,
      entity: owner,
      owner,
      tags: [],
    });
    expect(made.body['fingerprint']).toMatch(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/);
    const list = await clientOf(fake)('GET', path);
    expect(list.body['ssh_keys']!.map((one) => one['id'])).toEqual([made.body['id']]);
    expect(list.body).not.toHaveProperty('meta');
    expect((await clientOf(fake)('GET', `${path}?query=nothing`)).body['ssh_keys']).toEqual([]);
  });

  it.each([
    '',
    'ssh-ed25519',
    'ssh-ed25519 AAAA',
    `ssh-rsa ${KEY.split(' ')[1]}`,
    `${KEY}\n${KEY}`,
  ])('are refused when the text is %j', async (key) => {
    const fake = await start();
    const reply = await clientOf(fake)('POST', '/ssh-keys', { label: 'x', key });
    expect(reply.status).toBe(422);
    expect(reply.body['errors']![0]).toMatch(/^key: /);
  });

  it.each(['PATCH', 'PUT'])('are changed with %s', async (method) => {
    const fake = await start();
    const { body } = await clientOf(fake)('POST', '/ssh-keys', { label: 'x', key: KEY });
    const path = `/ssh-keys/${body['id']}`;
    const changed = await clientOf(fake)(method, path, { key: OTHER_KEY });
    expect([changed.status, changed.body['label'], changed.body['key']]).toEqual([
      200,
      'x',
      OTHER_KEY,
    ]);
    expect((await clientOf(fake)(method, path, { key: 'nonsense' })).status).toBe(422);
  });

  it('come back as they were sent, with their tags', async () => {
    const fake = await start();
    const sent = { label: 'x', key: `  ${KEY}  \n`, tags: ['a'] };
    const made = await clientOf(fake)('POST', '/ssh-keys', sent);
    expect(made.body).toMatchObject(sent);
    const path = `/ssh-keys/${made.body['id']}`;
    expect((await clientOf(fake)('GET', path)).body).toEqual(made.body);
    const change = { key: `${OTHER_KEY}\n`, tags: ['b'] };
    expect((await clientOf(fake)('PATCH', path, change)).body).toMatchObject(change);
    expect((await clientOf(fake)('PATCH', path, { label: 'y' })).body).toMatchObject(change);
  });

  it('are put on the devices that they name', async () => {
    const fake = await start();
    const device = await createDevice(fake);
    const key = { label: 'x', key: KEY, instances_ids: [device] };
    const made = await clientOf(fake)('POST', '/ssh-keys', key);
    const { body } = await clientOf(fake)('GET', `/devices/${device}`);
    expect(body['ssh_keys']).toEqual([{ href: `/ssh-keys/${made.body['id']}` }]);
    const nowhere = { ...key, instances_ids: [made.body['id']] };
    const refused = await clientOf(fake)('POST', '/ssh-keys', nowhere);
    expect([refused.status, refused.body['errors']!.join()]).toEqual([
      422,
      `instances_ids: no such device "${made.body['id']}"`,
    ]);
    expect((await clientOf(fake)('GET', '/ssh-keys')).body['ssh_keys']).toHaveLength(1);
  });

  it('are deleted once, and leave no trace in devices', async () => {
    const fake = await start();
    const path = `/projects/${fake.projectId}/ssh-keys`;
    const { body } = await clientOf(fake)('POST', path, { label: 'x', key: KEY });
    await createDevice(fake, 0, { project_ssh_keys: [body['id']] });
    const remove = () => clientOf(fake)('DELETE', `/ssh-keys/${body['id']}`);
    expect((await remove()).status).toBe(204);
    expect((await remove()).status).toBe(404);
    expect(fake.violations()).toEqual([]);
  });

  it('with the same label are two, or refused under the knob', async () => {
    for (const [uniqueLabels, status] of [
      [false, 201],
      [true, 422],
    ] as const) {
      const fake = await start({ knobs: { uniqueLabels } });
      await clientOf(fake)('POST', '/ssh-keys', { label: 'x', key: KEY });
      const second = await clientOf(fake)('POST', '/ssh-keys', { label: 'x', key: OTHER_KEY });
      expect(second.status).toBe(status);
    }
  });

  it('are listed as far as the token sees', async () => {
    const world = parseWorld({
      projects: [{ name: 'a' }, { name: 'b' }],
      keys: [
        { label: 'in-a', key: KEY, project: 'a' },
        { label: 'in-b', key: KEY, project: 'b' },
      ],
    });
    const fake = await start({ world });
    await clientOf(fake)('POST', '/ssh-keys', { label: 'mine', key: KEY });
    const labels = async (token: string) =>
      (await clientOf(fake, token)('GET', '/ssh-keys')).body['ssh_keys']!.map((k) => k['label']);
    expect(await labels(fake.tokens.user)).toEqual(['in-a', 'in-b', 'mine']);
    expect(await labels(fake.tokens.project)).toEqual(['in-a']);
    const reply = await clientOf(fake, fake.tokens.project)('POST', '/ssh-keys', {
      label: 'x',
      key: KEY,
    });
    expect(reply.status).toBe(403);
  });

  it.each([
    [{}, [KEY, OTHER_KEY]],
    [{ no_ssh_keys: true }, []],
    [{ project_ssh_keys: 'first' }, [KEY]],
    [{ project_ssh_keys: [] }, [KEY, OTHER_KEY]],
  ])('reach a machine created with %j', async (more, expected) => {
    const assigned: string[][] = [];
    const fake = await start({
      hooks: {
        assign: async (device) => {
          assigned.push([...device.authorizedKeys]);
          return { address: '127.0.0.1', sshPort: 2222 };
        },
        up: async () => undefined,
        down: async () => undefined,
        reinstalled: async () => undefined,
        gone: async () => undefined,
      },
    });
    const path = `/projects/${fake.projectId}/ssh-keys`;
    const { body } = await clientOf(fake)('POST', path, { label: 'p', key: `${KEY}\n` });
    await clientOf(fake)('POST', '/ssh-keys', { label: 'u', key: OTHER_KEY });
    const first = 'project_ssh_keys' in more && more.project_ssh_keys === 'first';
    const lists = first ? { project_ssh_keys: [body['id']] } : more;
    await createDevice(fake, 0, lists);
    await fake.advance(30_000);
    expect(assigned).toEqual([expected]);
  });
});
