/** Writes the alerts in the Prometheus operator's form, for `deploy/kubernetes`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const deploy = join(import.meta.dirname, '../deploy');
const rules = readFileSync(join(deploy, 'prometheus/shepherd.rules.yml'), 'utf8');
const groups = rules.slice(rules.indexOf('groups:'));
const head = `# Made of deploy/prometheus/shepherd.rules.yml by "npm run rules". For the Prometheus operator: name the
# console's address as \`console\` in \`externalLabels\` of your Prometheus, and alerts link to their runbooks.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: shepherd
spec:
`;
writeFileSync(join(deploy, 'kubernetes/rules.yaml'), head + groups.replaceAll(/^(?=.)/gm, '  '));
