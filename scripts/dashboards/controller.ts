import type { Dashboard } from './panel.ts';

const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}[$__rate_interval]))`;

/** What the controller does, and how fresh everybody's copy of the resources is. */
export const controllerDashboard: Dashboard = {
  uid: 'model-gateway-controller',
  title: 'Model Gateway / Controller',
  variables: [],
  rows: [
    {
      title: 'Reconciles',
      panels: [
        {
          title: 'Reconciles by result',
          about: '',
          kind: 'timeseries',
          unit: 'ops',
          width: 12,
          queries: [
            {
              expr: rate('controller_runtime_reconcile_total', 'controller, result'),
              legend: '{{controller}} {{result}}',
            },
          ],
        },
        {
          title: 'Time of a reconcile, 95 %',
          about: '',
          kind: 'timeseries',
          unit: 's',
          width: 12,
          queries: [
            {
              expr: `histogram_quantile(0.95, ${rate('controller_runtime_reconcile_time_seconds_bucket', 'le, controller')})`,
              legend: '{{controller}}',
            },
          ],
        },
        {
          title: 'Resources that wait',
          about: '',
          kind: 'timeseries',
          unit: 'short',
          width: 8,
          queries: [{ expr: 'max by (name) (workqueue_depth)', legend: '{{name}}' }],
        },
        {
          title: 'Time in the queue, 95 %',
          about: '',
          kind: 'timeseries',
          unit: 's',
          width: 8,
          queries: [
            {
              expr: `histogram_quantile(0.95, ${rate('workqueue_queue_duration_seconds_bucket', 'le, name')})`,
              legend: '{{name}}',
            },
          ],
        },
        {
          title: 'Retries',
          about: '',
          kind: 'timeseries',
          unit: 'ops',
          width: 8,
          queries: [{ expr: rate('workqueue_retries_total', 'name'), legend: '{{name}}' }],
        },
      ],
    },
    {
      title: 'The copy of the resources',
      panels: [
        {
          title: 'Since anything was heard',
          about: 'Bookmarks come about once a minute: more than a few minutes says that a watch is cut off.',
          kind: 'timeseries',
          unit: 's',
          width: 8,
          queries: [
            {
              expr: 'time() - min by (instance, kind) (modelgateway_store_last_event_timestamp_seconds)',
              legend: '{{instance}} {{kind}}',
            },
          ],
        },
        {
          title: 'Objects',
          about: 'That each process holds.',
          kind: 'timeseries',
          unit: 'short',
          width: 8,
          queries: [
            { expr: 'max by (instance, kind) (modelgateway_store_objects)', legend: '{{instance}} {{kind}}' },
          ],
        },
        {
          title: 'Watches that ended, lists read anew',
          about: '',
          kind: 'timeseries',
          unit: 'ops',
          width: 8,
          queries: [
            {
              expr: rate('modelgateway_watch_restarts_total', 'kind, reason'),
              legend: '{{kind}} {{reason}}',
            },
            { expr: rate('modelgateway_relists_total', 'kind'), legend: '{{kind}} list' },
          ],
        },
        {
          title: 'Calls to the API server',
          about: '',
          kind: 'timeseries',
          unit: 'reqps',
          width: 12,
          queries: [
            { expr: rate('rest_client_requests_total', 'instance, code'), legend: '{{instance}} {{code}}' },
          ],
        },
        {
          title: 'Who leads',
          about: '1 for the controller that holds the lease.',
          kind: 'timeseries',
          unit: 'short',
          width: 12,
          queries: [{ expr: 'max by (instance) (leader_election_master_status)', legend: '{{instance}}' }],
        },
      ],
    },
  ],
};
