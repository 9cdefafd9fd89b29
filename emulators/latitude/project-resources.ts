import { z } from 'zod';
import type { ApiAnswer, Route } from '../kit/api.ts';
import type { LatitudeCall } from './api.ts';
import { attributesOf, filled, known } from './input.ts';
import { userDataOf } from './reads.ts';
import { document, sshKeyView, userDataView } from './views.ts';
import { newId, type LatitudeWorld } from './world.ts';

interface Texts {
  readonly description?: string | undefined;
  readonly content?: string | undefined;
}
const DESCRIPTION_MAX = 255;
const CONTENT_MAX = 65_536;

/** Changes of user data and SSH keys, which projects store for installations. */
export function projectResourceRoutes(world: LatitudeWorld): readonly Route<LatitudeCall>[] {
  const project = known((wanted) => world.projects.some(({ id }) => id === wanted));
  const description = filled.max(DESCRIPTION_MAX, 'is too long');
  const content = filled.max(CONTENT_MAX, 'is too long').refine(isBase64, 'is not base64');
  const newUserData = z.strictObject({ description, content, project });
  const changedUserData = z.strictObject({ description, content }).partial();
  const newSshKey = z.strictObject({
    name: filled,
    public_key: filled.regex(PUBLIC_KEY, 'is not an OpenSSH public key'),
    project,
  });
  const isNew = () => ({ createdAtMs: world.now(), goneAtMs: Infinity });
  const shown = (status: number, data: object): ApiAnswer => ({ status, body: document(data) });

  /** The stored form of user data. */
  function stored<T extends Texts>(call: LatitudeCall, texts: T): T {
    const cut = call.strike('cut', ({ field }) => texts[field] !== undefined);
    return cut ? { ...texts, [cut.field]: texts[cut.field]!.slice(0, cut.length) } : texts;
  }

  return [
    {
      method: 'POST',
      path: '/user_data',
      handle(call) {
        const { project: projectId, ...texts } = attributesOf(call, 'user_data', newUserData);
        const id = newId('ud', world.ids);
        const made = { id, projectId, ...isNew(), updatedAtMs: world.now() };
        const userData = { ...made, ...stored(call, texts) };
        world.userData.set(id, userData);
        return shown(201, userDataView(userData));
      },
    },
    {
      method: 'PATCH',
      path: '/user_data/{id}',
      handle(call) {
        const found = userDataOf(world, call);
        const texts = attributesOf(call, 'user_data', changedUserData, found.id);
        Object.assign(found, stored(call, texts), { updatedAtMs: world.now() });
        return shown(200, userDataView(found));
      },
    },
    {
      method: 'DELETE',
      path: '/user_data/{id}',
      handle(call) {
        userDataOf(world, call).goneAtMs = world.now();
        return { status: 204 };
      },
    },
    {
      method: 'POST',
      path: '/ssh_keys',
      handle(call) {
        const wanted = attributesOf(call, 'ssh_keys', newSshKey);
        const { name, public_key: publicKey, project: projectId } = wanted;
        const key = { id: newId('ssh', world.ids), projectId, ...isNew(), name, publicKey };
        world.sshKeys.set(key.id, key);
        return shown(201, sshKeyView(key));
      },
    },
  ];
}

const isBase64 = (text: string): boolean =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
const PUBLIC_KEY = /^(ssh|ecdsa)-[a-z0-9-]+ [A-Za-z0-9+/]+={0,2}( [^\r\n]*)?$/;
