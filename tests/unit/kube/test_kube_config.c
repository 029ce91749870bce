/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of kube_config: where the server is and who we are, from a file's text. */
#include "kube_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "str.h"
#include "unit.h"

static const char whole[] = "apiVersion: v1\n"
                            "kind: Config\n"
                            "current-context: two\n"
                            "contexts:\n"
                            "- name: one\n"
                            "  context: {cluster: no, user: no}\n"
                            "- context:\n"
                            "    cluster: k\n"
                            "    namespace: games\n"
                            "    user: u\n"
                            "  name: two\n"
                            "clusters:\n"
                            "- name: k\n"
                            "  cluster:\n"
                            "    certificate-authority-data: Y2E=\n"
                            "    server: https://[fd00::1]:6443/k8s/c1\n"
                            "users:\n"
                            "- name: u\n"
                            "  user:\n"
                            "    client-certificate-data: Y2VydA==\n"
                            "    client-key-data: a2V5\n"
                            "    token: \"abc\"\n";

TEST(the_current_context_counts)
{
        struct kube_config config;
        struct err e = { 0 };

        CHECK_EQ(kube_config_parse(whole, ".", &config, &e), 0);
        CHECK_STR(config.host, "fd00::1");
        CHECK_STR(config.port, "6443");
        CHECK_STR(config.path, "/k8s/c1");
        CHECK_STR(config.server_name, "fd00::1");
        CHECK_STR(config.authorities, "ca");
        CHECK_STR(config.certificate, "cert");
        CHECK_STR(config.key, "key");
        CHECK_STR(config.token, "abc");
        CHECK_STR(config.namespace_name, "games");
        CHECK(!config.is_plain && !config.trusts_all);
        kube_config_done(&config);
}

/* The same file with one line exchanged. */
static int parse_with(const char *line, const char *instead, struct kube_config *config,
                      struct err *e)
{
        const char *at = strstr(whole, line);
        char text[2048];

        CHECK(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - whole), whole, instead,
                 at + strlen(line));
        return kube_config_parse(text, "/nowhere", config, e);
}

TEST(servers_are_written_in_many_ways)
{
        static const char *const rows[][4] = {
                { "https://a.example", "a.example", "443", "" },
                { "https://10.0.0.1:6443", "10.0.0.1", "6443", "" },
                { "https://10.0.0.1:6443/", "10.0.0.1", "6443", "" },
                { "https://[::1]", "::1", "443", "" },
                { "http://localhost:8001/x", "localhost", "8001", "/x" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct kube_config config;
                struct err e = { 0 };

                CHECK_EQ(parse_with("https://[fd00::1]:6443/k8s/c1", rows[i][0], &config, &e), 0);
                CHECK_STR(config.host, rows[i][1]);
                CHECK_STR(config.port, rows[i][2]);
                CHECK_STR(config.path, rows[i][3]);
                kube_config_done(&config);
        }
}

TEST(what_is_wrong_is_said)
{
        static const struct {
                const char *line, *instead, *sentence;
        } rows[] = {
                { "current-context: two", "current-context: three",
                  "current context 'three' not found" },
                { "current-context: two", "preferences: {}",
                  "not a kubeconfig: it has no current-context" },
                { "https://[fd00::1]:6443/k8s/c1", "ftp://x",
                  "the server 'ftp://x' is not an https:// address" },
                { "https://[fd00::1]:6443/k8s/c1", "https:///x",
                  "the server 'https:///x' has no host" },
                { "token: \"abc\"", "exec: {command: aws}",
                  "the user is authenticated by a program (exec), which is not supported: use a "
                  "token or a client certificate" },
                { "client-key-data: a2V5", "client-key: key.pem",
                  "cannot read '/nowhere/key.pem': No such file or directory" },
                { "a2V5", "\"&\"", "client-key-data is not base64" },
                { "kind: Config", "kind: *x", "line 2: anchors and tags are not supported" },
                { "kind: Config", "kind: &x Config", "line 2: anchors and tags are not supported" },
                { "kind: Config", "apiVersion: v1", "line 2: duplicate key" },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct kube_config config;
                struct err e = { 0 };

                CHECK(parse_with(rows[i].line, rows[i].instead, &config, &e) < 0);
                CHECK_STR(e.text, rows[i].sentence);
        }
}

TEST(the_configuration_of_a_pod_is_a_folder)
{
        char folder[] = "/tmp/vgpu-kube-XXXXXX";
        char path[64];
        struct kube_config config;
        struct err e = { 0 };

        CHECK(mkdtemp(folder));
        CHECK(kube_config_in_cluster(folder, "10.96.0.1", "443", &config, &e) < 0);
        snprintf(path, sizeof path, "%s/ca.crt", folder);
        CHECK_EQ(file_replace(path, "ca", 2, 0600), 0);
        CHECK_EQ(kube_config_in_cluster(folder, "10.96.0.1", NULL, &config, &e), 0);
        CHECK_STR(config.port, "443");
        CHECK_STR(config.authorities, "ca");
        CHECK(strstr(config.token_path, "/token"));
        CHECK(!config.namespace_name);
        kube_config_done(&config);
        unlink(path);
        rmdir(folder);
}

int main(void)
{
        return RUN(CASE(the_current_context_counts), CASE(servers_are_written_in_many_ways),
                   CASE(what_is_wrong_is_said), CASE(the_configuration_of_a_pod_is_a_folder));
}
