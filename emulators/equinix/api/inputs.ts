import { z } from 'zod';

/** An object or its JSON text, which the service's Go client sends; empty text is empty. */
const objectOrText = z.union(
  [z.record(z.string(), z.unknown()), z.string().transform(parseObject)],
  { error: 'expected an object, or the JSON text of one' },
);

function parseObject(text: string, ctx: z.RefinementCtx): Record<string, unknown> {
  try {
    return z.record(z.string(), z.unknown()).parse(text.trim() === '' ? {} : JSON.parse(text));
  } catch {
    ctx.addIssue({ code: 'custom', message: 'is not the JSON text of an object' });
    return z.NEVER;
  }
}

const strings = z.array(z.string());

/** Fields of both create and update that a device then shows. */
const fields = z.object({
  hostname: z.string().regex(/^[A-Za-z0-9.-]+$/, 'only letters, digits, "." and "-" are allowed'),
  description: z.string().optional(),
  tags: strings,
  userdata: z.string(),
  customdata: objectOrText,
  locked: z.boolean(),
  always_pxe: z.boolean(),
  ipxe_script_url: z.string().optional(),
  billing_cycle: z.enum(['hourly', 'daily', 'monthly', 'yearly']),
});
export type DeviceFields = z.output<typeof fields>;

/** Fields of a device whose create gives only its name. */
export const plainFields = (hostname: string): DeviceFields => ({
  ...{ hostname, tags: [], userdata: '', customdata: {} },
  ...{ locked: false, always_pxe: false, billing_cycle: 'hourly' },
});

/** The fields that were given. */
export const givenFields = (input: z.output<typeof deviceUpdate>): Partial<DeviceFields> =>
  Object.fromEntries(
    Object.entries(input).filter(([name, value]) => name in fields.shape && value !== undefined),
  );

export const deviceUpdate = fields.partial();

/** Other fields of a create are accepted without effect. */
export const deviceCreate = fields.partial().extend({
  plan: z.string(),
  operating_system: z.string(),
  metro: z.string().optional(),
  facility: z
    .union([strings, z.string().transform((code) => [code])], {
      error: 'expected a code or a list of codes',
    })
    .optional(),
  /** Empty text means none. */
  hardware_reservation_id: z
    .string()
    .transform((id) => (id === '' ? undefined : id))
    .optional(),
  project_ssh_keys: strings.optional(),
});
export type DeviceCreate = z.output<typeof deviceCreate>;

export const deviceAction = z.object({
  type: z.enum(['reboot', 'power_off', 'power_on', 'reinstall']),
  operating_system: z.string().optional(),
});

export const reservationMove = z.object({ project_id: z.string() });
export const projectCreate = z.object({ name: z.string().min(1).max(80) });

export const keyCreate = z.object({
  label: z.string().min(1),
  key: z.string(),
  tags: strings.optional(),
});
export const keyUpdate = keyCreate.partial();
