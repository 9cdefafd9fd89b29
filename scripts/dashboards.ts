/** Writes the dashboards of `deploy/grafana/` in Grafana's import format. A test compares them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { BOARDS } from './grafana/boards.ts';
import { dashboardOf } from './grafana/panel.ts';

for (const [name, board] of Object.entries(BOARDS)) {
  const file = join(import.meta.dirname, '..', `deploy/grafana/${name}.json`);
  const options = { ...(await resolveConfig(file)), parser: 'json' };
  writeFileSync(file, await format(JSON.stringify(dashboardOf(board)), options));
}
