import type { Api } from '../../../http/api.ts';
import type { Call } from '../../../http/call.ts';
import type { EquinixConfig } from '../settings.ts';
import { checkedId, type Within } from './request-parts.ts';
import { nothing, ofId, type SshKey, sshKey, sshKeyList } from './schema.ts';

/** Routes of SSH keys; their lists are not paged. See `createDeviceRoutes`. */
export function createKeyRoutes(config: Pick<EquinixConfig, 'projectId'>, api: Pick<Api, 'call'>) {
  const keysOf = (call: Call) => `/projects/${checkedId(call, config.projectId)}/ssh-keys`;
  const pathOf = (call: Call, id: string) => `/ssh-keys/${checkedId(call, id)}`;

  return {
    async listProjectSshKeys(within: Within): Promise<readonly SshKey[]> {
      const call = api.call('listProjectSshKeys', within);
      const request = { method: 'GET', path: keysOf(call), schema: sshKeyList } as const;
      return (await call.send(request)).ssh_keys.items;
    },
    getSshKey: (call: Call, id: string): Promise<SshKey> =>
      call.send({ method: 'GET', path: pathOf(call, id), schema: ofId(sshKey, id) }),
    postSshKey: (
      call: Call,
      body: { readonly label: string; readonly key: string },
    ): Promise<SshKey> => call.send({ method: 'POST', path: keysOf(call), body, schema: sshKey }),
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
