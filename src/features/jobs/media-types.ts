/** The media type of a report. Its profile distinguishes it from the record of another creation, also in generated clients. */
export const REPORT_TYPE = 'application/json; profile=report';
