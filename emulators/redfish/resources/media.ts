import type { ApiAnswer } from '../../kit/api.ts';
import type { RedfishCall, RackCore } from '../core.ts';
import { refusal, successBody } from '../messages.ts';
import { eject, type Media } from '../world.ts';
import { bodyOf, requireInput, type Rules } from './input.ts';
import { mediaOf, mediaView } from './views.ts';

const NO_CONTENT: ApiAnswer = { status: 204 };

const RULES: Rules = {
  Image: 'string',
  Inserted: 'boolean',
  WriteProtected: 'boolean',
  TransferMethod: ['Stream', 'Upload'],
  TransferProtocolType: ['CIFS', 'FTP', 'SFTP', 'HTTP', 'HTTPS', 'NFS', 'SCP', 'TFTP', 'OEM'],
  UserName: 'string',
  Password: 'string',
};

export function insertMedia(core: RackCore, call: RedfishCall): ApiAnswer {
  const { mediaRefuses, mediaNeeds } = core.vendor;
  const media = mediaOf(core, call);
  const input = bodyOf(call);
  const known = Object.entries(RULES).filter(([name]) => !mediaRefuses.includes(name));
  requireInput({
    ...{ input, action: 'InsertMedia', rules: Object.fromEntries(known) },
    required: ['Image', ...mediaNeeds],
  });
  insert(media, input);
  return NO_CONTENT;
}

function insert(media: Media, input: Readonly<Record<string, unknown>>): void {
  if (media.image !== null) throw refusal(409, 'ResourceInUse');
  const { Image: image, WriteProtected: writeProtected } = input;
  Object.assign(media, { image, writeProtected: writeProtected !== false });
}

export function ejectMedia(core: RackCore, call: RedfishCall): ApiAnswer {
  const media = mediaOf(core, call);
  const input = call.body === undefined ? {} : bodyOf(call);
  requireInput({ input, action: 'EjectMedia', rules: {} });
  eject(media);
  return NO_CONTENT;
}

/** For BMCs without media actions. */
export function patchMedia(core: RackCore, call: RedfishCall): ApiAnswer {
  const media = mediaOf(core, call);
  const input = bodyOf(call);
  const isOut = input['Image'] === null || input['Inserted'] === false;
  requireInput({
    ...{ input, rules: { ...RULES, Image: 'string?' }, shownAs: mediaView(core, call) },
    required: isOut ? [] : ['Image', 'Inserted', 'WriteProtected'],
  });
  if (isOut) eject(media);
  else insert(media, input);
  return { status: 200, body: successBody() };
}
