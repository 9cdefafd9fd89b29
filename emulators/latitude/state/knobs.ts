import { z } from 'zod';

const text = z.strictObject({
  status: z.int().min(400).max(499),
  code: z.string(),
  title: z.string(),
  detail: z.string(),
});
/** How a refusal reads whose wording nobody has published. */
export type RefusalText = z.output<typeof text>;

const use = z.enum(['allowed', 'refused']);

/** How the service behaves where nobody has published how it behaves. */
export const knobsSchema = z.strictObject({
  /** `status` is `on` for a while before `deploying`, as a recorded reply shows. */
  onFlash: z.boolean().optional(),
  /** Whether the reply to a create has an address already. */
  firstAddress: z.enum(['atOnce', 'deploying']).optional(),
  hostnameFilter: z.enum(['exact', 'prefix']).optional(),
  /** How a host name comes back. */
  hostnameCase: z.enum(['kept', 'upper', 'lower']).optional(),
  duplicateNames: use.optional(),
  duplicateKeys: use.optional(),
  /** A plan, site, system, project, key or user data that there is not. */
  unknownReference: z.literal([404, 422]).optional(),
  deleteWhileDeploying: use.optional(),
  /** Of user data that a server was deployed with. */
  patchInUse: use.optional(),
  deleteInUse: use.optional(),
  /** When the content that a first boot gets is read. */
  userDataRead: z.enum(['atRequest', 'atBoot']).optional(),
  /** Characters; 0: no limit. */
  descriptionMax: z.int().min(0).optional(),
  contentMax: z.int().min(0).optional(),
  /** What becomes of a text that is too long. */
  tooLong: z.enum(['refused', 'cut']).optional(),
  pageSizeMax: z.int().min(1).optional(),
  pageSizeOver: z.enum(['refused', 'clamped']).optional(),
  /** Lists show what was there so long ago. */
  listLagMs: z.number().min(0).optional(),
  /** A deleted server is readable for so long. */
  tombstoneMs: z.number().min(0).optional(),
  /** The reply to a reinstall. */
  reinstallReply: z.enum(['document', 'empty']).optional(),
  /** How events are named. */
  eventNames: z.enum(['dotted', 'words']).optional(),
  /** Where a server says where it is. */
  siteShown: z.enum(['region', 'site']).optional(),
  stockText: text.optional(),
  quotaText: text.optional(),
  lockText: text.optional(),
  stateText: text.optional(),
});
export type GivenKnobs = z.input<typeof knobsSchema>;
type Everything<T> = { -readonly [K in keyof T]-?: Exclude<T[K], undefined> };
/** All of them, with what counts where nothing was said. */
export type Knobs = Everything<z.output<typeof knobsSchema>>;

/** Changes those that are given. @throws {z.ZodError} */
export function changeKnobs(knobs: Knobs, changes: GivenKnobs): Knobs {
  const given = Object.entries(knobsSchema.parse(changes)).filter(
    ([, value]) => value !== undefined,
  );
  return Object.assign(knobs, Object.fromEntries(given));
}

const unprocessable = (code: string, detail: string): RefusalText => ({
  ...{ status: 422, title: 'Error', code, detail },
});

export const DEFAULT_KNOBS: Knobs = {
  onFlash: true,
  firstAddress: 'atOnce',
  hostnameFilter: 'exact',
  hostnameCase: 'kept',
  duplicateNames: 'allowed',
  duplicateKeys: 'refused',
  unknownReference: 422,
  deleteWhileDeploying: 'allowed',
  patchInUse: 'allowed',
  deleteInUse: 'allowed',
  userDataRead: 'atRequest',
  descriptionMax: 255,
  contentMax: 65_536,
  tooLong: 'refused',
  pageSizeMax: 100,
  pageSizeOver: 'refused',
  listLagMs: 0,
  tombstoneMs: 0,
  reinstallReply: 'document',
  eventNames: 'dotted',
  siteShown: 'region',
  stockText: unprocessable('out_of_stock', 'The plan is out of stock at this site'),
  quotaText: unprocessable('limit_reached', 'The limit of servers of this team is reached'),
  lockText: unprocessable('server_locked', 'The server is locked'),
  stateText: unprocessable('invalid_state', 'The server cannot do this in its present state'),
};
