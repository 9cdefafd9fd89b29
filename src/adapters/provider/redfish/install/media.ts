import { isProviderError, ProviderError } from '../../../../domain/errors.ts';
import { type Clock, sleep } from '../../../clock/port.ts';
import type { CallOptions } from '../../port.ts';
import type { Bmc, Wire } from '../client/bmc.ts';
import { type Refusal, refusalIn, unlessAbsent } from '../client/errors.ts';
import { patch } from '../client/patch.ts';
import { linkOf, linksOf, requireOwnPath } from '../client/paths.ts';
import { etagOf, isObject, type Json, type Reply } from '../client/replies.ts';
import type { System } from '../client/system.ts';
import { followTask } from '../client/tasks.ts';

/** A drive that a BMC pretends. */
export interface Device {
  readonly path: string;
  readonly etag: string | null;
  readonly types: readonly string[];
  readonly image: string | null;
  readonly isInserted: boolean;
  /** Targets of its actions; null: it has none, and is changed by PATCH. */
  readonly insert: string | null;
  readonly eject: string | null;
}

export interface MediaScene {
  readonly bmc: Bmc;
  readonly system: System;
  readonly call: Pick<CallOptions, 'signal' | 'deadline'>;
  readonly clock: Clock;
}

/** What InsertMedia may ask for, and what it is then told. */
const EXTRAS: Readonly<Record<string, (image: string) => unknown>> = {
  TransferProtocolType: (image) => (image.startsWith('https:') ? 'HTTPS' : 'HTTP'),
  TransferMethod: () => 'Stream',
  Inserted: () => true,
  WriteProtected: () => true,
  UserName: () => 'none',
  Password: () => 'none',
};
const ATTEMPTS = 5;
const LOOKS = 3;
const LOOK_MS = 2_000;

/**
 * Puts an image into a virtual CD drive, which is emptied before: some BMCs show an image that is not
 * there any more.
 * @throws {ProviderError} `not-implemented`: no drive takes it. `transient`: none shows it.
 */
export async function insertImage(scene: MediaScene, image: string): Promise<void> {
  const devices = await discsOf(scene);
  if (devices.length === 0) {
    throw new ProviderError('not-implemented', `${scene.bmc.url} has no virtual CD drive`);
  }
  for (const device of devices) if (isLoaded(device)) await eject(scene, device);
  let reason: unknown = null;
  for (const device of devices) {
    try {
      await insertInto(scene, device, image);
    } catch (error) {
      if (!isUnfit(error)) throw error;
      reason = error;
      continue;
    }
    if (await shows(scene, device)) return;
    reason = new ProviderError('transient', `${device.path} took the image and does not show it`);
  }
  throw reason;
}

/** What is taken away again. */
export interface Leaving {
  readonly isOurs: (address: string) => boolean;
  /** Awaited just before each change. */
  readonly check: () => Promise<void>;
}

/** Takes out whatever `isOurs`. */
export async function ejectImages(scene: MediaScene, { isOurs, check }: Leaving): Promise<void> {
  for (const device of await discsOf(scene)) {
    if (device.image === null || !isOurs(device.image)) continue;
    await check();
    await eject(scene, device);
  }
}

const turn = <T>({ bmc, call }: MediaScene, work: (wire: Wire) => Promise<T>): Promise<T> =>
  bmc.inTurn({ signal: call.signal, urgent: true }, work);

const isLoaded = ({ isInserted, image }: Device): boolean => isInserted || image !== null;

/** The drives for CDs, of the system or else of its managers; where there are none, those for DVDs. */
async function discsOf(scene: MediaScene): Promise<readonly Device[]> {
  const devices = await turn(scene, async (wire) => {
    const found: Device[] = [];
    for (const path of await placesOf(wire, scene.system)) {
      const media = await unlessAbsent(wire.get(path));
      for (const member of linksOf(media?.json?.['Members'])) {
        const device = await unlessAbsent(wire.get(member));
        if (device) found.push(deviceOf(device));
      }
    }
    return found;
  });
  const holding = (type: string) => devices.filter(({ types }) => types.includes(type));
  const discs = holding('CD');
  return discs.length > 0 ? discs : holding('DVD');
}

async function placesOf(wire: Wire, { json, managers }: System): Promise<readonly string[]> {
  const own = linkOf(json['VirtualMedia']);
  if (own !== null) return [own];
  const places: string[] = [];
  for (const manager of managers) {
    const path = linkOf((await unlessAbsent(wire.get(manager)))?.json?.['VirtualMedia']);
    if (path !== null) places.push(path);
  }
  return places;
}

function deviceOf(reply: Reply): Device {
  const { json = {}, path } = reply;
  const actions = isObject(json['Actions']) ? json['Actions'] : {};
  const targetOf = (name: string): string | null => {
    const action = actions[`#VirtualMedia.${name}`];
    const target = isObject(action) ? action['target'] : undefined;
    return typeof target === 'string' ? requireOwnPath(target) : null;
  };
  const { MediaTypes: types, Image: image } = json;
  return {
    path,
    etag: etagOf(reply),
    types: Array.isArray(types) ? types.filter((type) => typeof type === 'string') : [],
    image: typeof image === 'string' && image !== '' ? image : null,
    isInserted: json['Inserted'] === true,
    insert: targetOf('InsertMedia'),
    eject: targetOf('EjectMedia'),
  };
}

async function insertInto(scene: MediaScene, device: Device, image: string): Promise<void> {
  if (device.insert === null) {
    const body = { Image: image, Inserted: true, WriteProtected: true };
    return change(scene, (wire) => patch(wire, device, body));
  }
  let body: Json = { Image: image };
  for (let attempt = 1; ; attempt++) {
    try {
      return await change(scene, (wire) => wire.send('POST', device.insert!, body));
    } catch (error) {
      const refusal = refusalIn(error);
      const asked = refusal?.status === 400 ? askedIn(refusal, body, image) : {};
      if (Object.keys(asked).length === 0 || attempt === ATTEMPTS) throw error;
      body = { ...body, ...asked };
    }
  }
}

/** What a refusal misses, and only that. */
const askedIn = ({ ids, message }: Refusal, body: Json, image: string): Json =>
  ids.some((id) => id.endsWith('Missing'))
    ? Object.fromEntries(
        Object.entries(EXTRAS)
          .filter(([name]) => !(name in body) && new RegExp(`\\b${name}\\b`).test(message))
          .map(([name, value]) => [name, value(image)]),
      )
    : {};

/** Another drive may do. */
function isUnfit(error: unknown): boolean {
  const status = refusalIn(error)?.status ?? 0;
  return isProviderError(error) && [400, 404, 405, 409, 422, 501].includes(status);
}

async function shows(scene: MediaScene, { path }: Device): Promise<boolean> {
  for (let look = 1; ; look++) {
    const now = deviceOf(await turn(scene, (wire) => wire.get(path)));
    if (now.isInserted) return true;
    if (look === LOOKS) return false;
    await sleep(scene.clock, LOOK_MS, scene.call.signal);
  }
}

/** Without a body, with an empty one, or it is out anyway. */
async function eject(scene: MediaScene, device: Device): Promise<void> {
  const { eject: target, path } = device;
  try {
    if (target === null) {
      const body = { Image: null, Inserted: false };
      return await change(scene, (wire) => patch(wire, device, body));
    }
    return await change(scene, (wire) => wire.send('POST', target)).catch((error: unknown) => {
      if (![400, 415].includes(refusalIn(error)?.status ?? 0)) throw error;
      return change(scene, (wire) => wire.send('POST', target, {}));
    });
  } catch (error) {
    if (refusalIn(error) === null) throw error;
    const now = deviceOf(await turn(scene, (wire) => wire.get(path)));
    if (now.isInserted) throw error;
  }
}

async function change(scene: MediaScene, ask: (wire: Wire) => Promise<Reply>): Promise<void> {
  const { bmc, call, clock } = scene;
  const reply = await turn(scene, ask);
  await followTask(bmc, reply, call, clock);
}
