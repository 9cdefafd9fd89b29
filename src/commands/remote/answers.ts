import type { z } from 'zod';
import type { MadeSchema, TokenSchema, TokensSchema } from '../../console/access/accounts-api.ts';
import type { AcceptanceSchema, ConditionsSchema } from '../../console/api/conditions.ts';
import type { CaseInFullSchema, CasesSchema } from '../../console/api/cases.ts';
import type { SessionsSchema } from '../../console/api/daemons.ts';
import type { PageSchema as EventsSchema } from '../../console/api/events.ts';
import type { FleetSchema, PoolsSchema } from '../../console/api/fleet-schema.ts';
import type { HistorySchema } from '../../console/api/insight.ts';
import type { ExplanationSchema, PlanSchema } from '../../console/api/plan-schema.ts';
import type { LogLevelsSchema, WhoamiSchema } from '../../console/api/about.ts';
import type { LogSchema } from '../../console/api/log.ts';
import type { MachineSchema } from '../../console/api/machine-schema.ts';
import type { MachinesSchema } from '../../console/api/machines.ts';
import type {
  ProviderInFullSchema,
  ProvidersSchema,
  ScaleSchema,
} from '../../console/api/provider-schema.ts';
import type {
  HardwareReportsSchema,
  RecordsSchema,
  StatisticsSchema,
} from '../../console/api/records.ts';
import type { FailuresSchema } from '../../console/api/stats.ts';
import type { RollPlanSchema, RollSchema, RollsSchema } from '../../console/api/rolls.ts';
import type { ResolutionSchema } from '../../console/api/resolve.ts';
import type {
  BatchSchema,
  PreviewSchema,
  RequestSchema,
} from '../../console/api/submit/answers.ts';
import type { RequestListSchema } from '../../console/api/submit/request-list.ts';

/** The answers of the API, as types of its schemas. No schema is loaded. */

export type Events = z.output<typeof EventsSchema>;
export type Fleet = z.output<typeof FleetSchema>;
export type MachinePage = z.output<typeof MachinesSchema>;
export type MachineRow = MachinePage['machines'][number];
export type LogLevels = z.output<typeof LogLevelsSchema>;
export type Log = z.output<typeof LogSchema>;
export type Machine = z.output<typeof MachineSchema>;
export type Acceptance = z.output<typeof AcceptanceSchema>;
export type Conditions = z.output<typeof ConditionsSchema>;
export type Condition = Conditions['conditions'][number];
export type Explanation = z.output<typeof ExplanationSchema>;
export type History = z.output<typeof HistorySchema>;
export type Resolution = z.output<typeof ResolutionSchema>;
export type Sessions = z.output<typeof SessionsSchema>;
export type Providers = z.output<typeof ProvidersSchema>;
export type Provider = z.output<typeof ProviderInFullSchema>;
export type Scale = z.output<typeof ScaleSchema>;
export type Plan = z.output<typeof PlanSchema>;
export type Pools = z.output<typeof PoolsSchema>;
export type Request = z.output<typeof RequestSchema>;
export type RequestList = z.output<typeof RequestListSchema>;
export type Batch = z.output<typeof BatchSchema>;
export type Preview = z.output<typeof PreviewSchema>;
export type Token = z.output<typeof TokenSchema>;
export type Tokens = z.output<typeof TokensSchema>;
export type MadeToken = z.output<typeof MadeSchema>;
export type Whoami = z.output<typeof WhoamiSchema>;
export type Records = z.output<typeof RecordsSchema>;
export type HardwareReports = z.output<typeof HardwareReportsSchema>;
export type Statistics = z.output<typeof StatisticsSchema>;
export type Cases = z.output<typeof CasesSchema>;
export type Case = Cases['cases'][number];
export type CaseInFull = z.output<typeof CaseInFullSchema>;
export type Roll = z.output<typeof RollSchema>;
export type Rolls = z.output<typeof RollsSchema>;
export type RollPlan = z.output<typeof RollPlanSchema>;
export type Failures = z.output<typeof FailuresSchema>;
