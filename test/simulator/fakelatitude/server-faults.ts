import { expect } from 'vitest';
import type { NumberedProof } from './fault-steps.ts';
import { MINUTE, SECOND } from './harness.ts';

const HALF_HOUR = 30 * MINUTE;

/** What each fault in the life of a server does. */
export const SERVER_FAULTS: readonly NumberedProof[] = [
  [
    13,
    'stale on',
    async ({ fake, fault, running, reinstall, statusOf, listed }) => {
      const id = await running();
      fault({ type: 'staleOn', ms: 15 * SECOND }, { times: 1 });
      await reinstall(id);
      await fake.advance(15 * SECOND - 1);
      expect(await statusOf(id)).toBe('on');
      expect((await listed()).list[0]?.attributes['status']).toBe('on');
      await fake.advance(1);
      expect(await statusOf(id)).toBe('disk_erasing');
    },
  ],
  [
    14,
    'deployment stuck',
    async ({ fake, fault, create, statusOf }) => {
      fault({ type: 'deployStuck' }, { match: { hostname: 'a' } });
      const { id } = (await create('a')).data;
      const { id: other } = (await create('b')).data;
      await fake.advance(24 * 60 * MINUTE);
      expect([await statusOf(id), await statusOf(other)]).toEqual(['deploying', 'on']);
    },
  ],
  [
    15,
    'deployment fails after half an hour, and a reinstall mends it',
    async ({ fake, fault, create, reinstall, statusOf }) => {
      fault({ type: 'deployFails' }, { times: 1 });
      const { id } = (await create('a')).data;
      await fake.advance(HALF_HOUR - 1);
      expect(await statusOf(id)).toBe('deploying');
      await fake.advance(1);
      expect(await statusOf(id)).toBe('failed_deployment');
      expect((await reinstall(id)).status).toBe(201);
      await fake.advance(11 * MINUTE);
      expect(await statusOf(id)).toBe('on');
    },
  ],
  [
    16,
    'erasing fails',
    async ({ fake, fault, running, reinstall, statusOf }) => {
      const id = await running();
      fault({ type: 'eraseFails' }, { match: { server: id }, times: 1 });
      await reinstall(id);
      await fake.advance(MINUTE);
      expect(await statusOf(id)).toBe('failed_disk_erasing');
      await fake.advance(HALF_HOUR);
      expect(await statusOf(id)).toBe('failed_disk_erasing');
    },
  ],
  [
    17,
    'an unknown status',
    async ({ fake, fault, running, ask, listed }) => {
      const id = await running();
      fault({ type: 'statusText', shows: 'migrating' }, { match: { server: id } });
      const shown = await ask('GET', `/servers/${id}`, { unjudged: true });
      expect(shown.data.attributes['status']).toBe('migrating');
      fake.clearFaults();
      expect((await listed()).list[0]?.attributes['status']).toBe('on');
    },
  ],
  [
    18,
    'an action is accepted and not done',
    async ({ fake, fault, running, act, statusOf }) => {
      const id = await running();
      fault({ type: 'actionIgnored' }, { times: 1 });
      expect((await act(id, 'power_off')).status).toBe(201);
      await fake.advance(10 * MINUTE);
      expect(await statusOf(id)).toBe('on');
      await act(id, 'power_off');
      await fake.advance(5 * SECOND);
      expect(await statusOf(id)).toBe('off');
    },
  ],
  [
    19,
    'IPMI unavailable: actions are refused',
    async ({ fault, running, act, server }) => {
      const id = await running();
      fault({ type: 'ipmiUnavailable' }, { match: { hostname: 'shep-ash-1' } });
      expect((await server(id))['ipmi_status']).toBe('Unavailable');
      expect((await act(id, 'reboot')).status).toBe(422);
    },
  ],
  [
    20,
    'locked by somebody',
    async ({ fake, fault, running, act, ask, reinstall, write, server }) => {
      const id = await running();
      fault({ type: 'locked' }, { match: { server: id } });
      expect((await server(id))['locked']).toBe(true);
      const body = write('servers', { hostname: 'b' }, id);
      const refused = [
        await act(id, 'reboot'),
        await reinstall(id),
        await ask('DELETE', `/servers/${id}`),
        await ask('PATCH', `/servers/${id}`, { body }),
        await ask('POST', `/servers/${id}/schedule_deletion`),
      ];
      expect(refused.map(({ status }) => status)).toEqual([422, 422, 422, 422, 422]);
      expect(refused[0]?.errors[0]?.detail).toMatch(/locked/);
      fake.setKnobs({ lockText: { status: 403, code: 'x', title: 'y', detail: 'is locked' } });
      expect((await act(id, 'reboot')).status).toBe(403);
      await ask('POST', `/servers/${id}/unlock`);
      expect((await act(id, 'reboot')).status).toBe(201);
    },
  ],
  [
    24,
    'the address changes',
    async ({ fault, running, server }) => {
      const id = await running();
      const { primary_ipv4: before } = await server(id);
      fault({ type: 'addressChanges', to: '203.0.113.7' }, { match: { server: id } });
      expect((await server(id))['primary_ipv4']).toBe('203.0.113.7');
      fault({ type: 'addressChanges' });
      expect([before, '203.0.113.7']).not.toContain((await server(id))['primary_ipv4']);
    },
  ],
  [
    25,
    'scheduled for deletion by the vendor',
    async ({ fake, fault, running, server }) => {
      const id = await running();
      fault({ type: 'scheduledDeletion', afterMs: 60 * MINUTE }, { match: { server: id } });
      expect((await server(id))['scheduled_deletion_at']).toBe('2026-01-01T01:11:00+00:00');
      await fake.advance(60 * MINUTE - 1);
      expect(fake.servers()).toHaveLength(1);
      await fake.advance(1);
      expect(fake.servers()).toEqual([]);
    },
  ],
  [
    27,
    'moved to another project',
    async ({ fake, fault, running, listed, server }) => {
      const id = await running();
      const [, reserved] = fake.teams()[0]!.projects;
      fault({ type: 'movedProject', to: reserved!.id }, { match: { server: id } });
      expect((await listed()).list).toEqual([]);
      expect((await server(id))['project']).toMatchObject({ id: reserved!.id });
    },
  ],
];
