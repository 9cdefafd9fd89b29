import type { EquinixConfig } from '../settings.ts';
import type { Call } from './call.ts';
import { checkedId, givenOf } from './request-parts.ts';
import { nothing, ofId, type SshKey, sshKey, sshKeyList } from './schema.ts';

/** Routes of SSH keys; their lists are not paged. See `createDeviceRoutes`. */
export function createKeyRoutes(config: Pick<EquinixConfig, 'projectId'>) {
  const keysOf = (call: Call, projectId: string) =>
    `/projects/${checkedId(call, projectId)}/ssh-keys`;
  const pathOf = (call: Call, id: string) => `/ssh-keys/${checkedId(call, id)}`;

  return {
    listProjectSshKeys: async (
      call: Call,
      { projectId = config.projectId, query }: { projectId?: string; query?: string } = {},
    ): Promise<readonly SshKey[]> => {
      const path = keysOf(call, projectId);
      const request = { method: 'GET', path, query: givenOf({ query }) as { query: string } };
      return (await call.send({ ...request, method: 'GET', schema: sshKeyList })).ssh_keys.items;
    },
    getSshKey: (call: Call, id: string): Promise<SshKey> =>
      call.send({ method: 'GET', path: pathOf(call, id), schema: ofId(sshKey, id) }),
    postSshKey: (
      call: Call,
      body: { readonly label: string; readonly key: string },
    ): Promise<SshKey> =>
      call.send({ method: 'POST', path: keysOf(call, config.projectId), body, schema: sshKey }),
    changeSshKey: (
      call: Call,
      { id, ...body }: { readonly id: string; readonly key: string },
      method: 'PATCH' | 'PUT',
    ): Promise<SshKey> =>
      call.send({ method, path: pathOf(call, id), body, schema: ofId(sshKey, id) }),
    deleteSshKey: (call: Call, id: string): Promise<undefined> =>
      call.send({ method: 'DELETE', path: pathOf(call, id), schema: nothing }),
  };
}
export type KeyRoutes = ReturnType<typeof createKeyRoutes>;
