import type { Answer, Call, Core } from '../core.ts';
import { RedfishError, refusal, successBody } from '../messages.ts';
import { eject, type Media } from '../world.ts';
import { bodyOf, propertyFaults, requireParameters, type Rules } from './input.ts';
import { mediaOf, mediaView } from './views.ts';

const NO_CONTENT: Answer = { status: 204 };

const RULES: Rules = {
  Image: { type: 'string' },
  Inserted: { type: 'boolean' },
  WriteProtected: { type: 'boolean' },
  TransferMethod: { type: 'string', values: ['Stream', 'Upload'] },
  TransferProtocolType: {
    type: 'string',
    values: ['CIFS', 'FTP', 'SFTP', 'HTTP', 'HTTPS', 'NFS', 'SCP', 'TFTP', 'OEM'],
  },
  UserName: { type: 'string' },
  Password: { type: 'string' },
};

export function insertMedia(core: Core, call: Call): Answer {
  const { profile } = core;
  const media = mediaOf(core, call);
  refuseLicence(call);
  const body = bodyOf(call);
  const wanted = call.strike('mediaWants')?.parameter;
  const rules = Object.fromEntries(
    Object.entries(RULES).filter(([name]) => !profile.mediaRefuses.includes(name)),
  );
  const required = ['Image', ...profile.mediaNeeds, ...(wanted === undefined ? [] : [wanted])];
  requireParameters('InsertMedia', body, rules, required);
  const image = body['Image'] as string;
  requireScheme(core, image, 'InsertMedia');
  if (media.inserted) throw refusal(409, 'ResourceInUse');
  insert(call, media, image, body['WriteProtected'] !== false);
  return NO_CONTENT;
}

/** @throws {RedfishError} 400: the BMC fetches nothing from there. */
function requireScheme({ profile }: Core, image: string, action: string): void {
  const scheme = /^([a-z]+):\/\/[^/]/.exec(image)?.[1];
  if (scheme !== undefined && profile.mediaSchemes.includes(scheme)) return;
  throw refusal(400, 'ActionParameterValueFormatError', image, 'Image', action);
}

function insert(call: Call, media: Media, image: string, writeProtected: boolean): void {
  if (call.strike('mediaNotFetched')) return;
  Object.assign(media, { image, inserted: true, writeProtected, stale: null });
}

export function ejectMedia(core: Core, call: Call): Answer {
  const media = mediaOf(core, call);
  refuseLicence(call);
  if (core.profile.ejectNeedsBody && call.body === undefined) throw refusal(400, 'MalformedJSON');
  if (call.body !== undefined) requireParameters('EjectMedia', bodyOf(call), {}, []);
  remove(call, media);
  return NO_CONTENT;
}

function remove(call: Call, media: Media): void {
  const { image } = media;
  eject(media);
  if (call.strike('staleMedia')) media.stale = image;
}

/** The way of BMCs that have no actions for it. */
export function patchMedia(core: Core, call: Call): Answer {
  const media = mediaOf(core, call);
  refuseLicence(call);
  const body = bodyOf(call);
  const rules: Rules = { ...RULES, Image: { type: 'string', nullable: true } };
  const wrong = propertyFaults(body, rules, mediaView(core, call));
  if (wrong.length > 0) throw new RedfishError(400, wrong);
  const { Image: image, Inserted: inserted, WriteProtected: writeProtected } = body;
  if (image === null || inserted === false) {
    remove(call, media);
    return { status: 200, body: successBody() };
  }
  const required = ['Image', 'Inserted', 'WriteProtected'];
  const absent = required.filter((name) => !(name in body));
  if (absent.length > 0) {
    throw new RedfishError(
      400,
      absent.map((name) => ({ name: 'PropertyMissing', args: [name], about: [`#/${name}`] })),
    );
  }
  requireScheme(core, String(image), 'PATCH');
  if (media.inserted) throw refusal(409, 'ResourceInUse');
  insert(call, media, String(image), writeProtected === true);
  return { status: 200, body: successBody() };
}

function refuseLicence(call: Call): void {
  if (call.strike('licence')) throw refusal(403, 'OemLicenseNotPassed');
}
